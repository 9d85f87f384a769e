"""Files a user named: only a regular UTF-8 file within the limit is read; the rest is one clear line."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading import files
from dfah_cli.loading.files import read_source


def refusal(path: str | Path) -> str:
    with pytest.raises(ConfigurationError) as caught:
        read_source(path)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("a: 1")
    assert refusal(tmp_path / "suit.yaml").endswith("no such file; did you mean 'suite.yaml'?")


def test_a_fifo_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo.yaml")
    assert refusal(tmp_path / "fifo.yaml").endswith("is a FIFO, not a file")


def test_a_directory_a_device_and_a_socket_are_not_files(tmp_path: Path) -> None:
    assert refusal(tmp_path).endswith("is a directory, not a file")
    assert refusal("/dev/zero").endswith("is a device, not a file")
    name = "s.sock"
    here = Path.cwd()
    os.chdir(tmp_path)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(name)
            assert refusal(name) == "s.sock: is a socket, not a file"
    finally:
        os.chdir(here)


def test_a_loop_of_links_is_refused_and_a_link_to_a_file_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to(tmp_path / "b.yaml")
    (tmp_path / "b.yaml").symlink_to(tmp_path / "a.yaml")
    assert refusal(tmp_path / "a.yaml").endswith("is a loop of symbolic links")
    (tmp_path / "real.yaml").write_text("x")
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    assert read_source(tmp_path / "link.yaml").text == "x"


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ("a: 1".encode("utf-16"), "f.yaml:1:1: the file is UTF-16; save it as UTF-8"),
        ("a: 1".encode("utf-32"), "f.yaml:1:1: the file is UTF-32; save it as UTF-8"),
        ("a: 1\nb: é".encode("latin-1"), "f.yaml:2:4: byte 0xe9 is not UTF-8"),
        (b"a: \xed\xa0\x80", "f.yaml:1:4: byte 0xed is not UTF-8"),
    ],
)
def test_another_encoding_is_named_with_its_place(tmp_path: Path, payload: bytes, said: str) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(payload)
    assert said in refusal(path)


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_BYTES", 2 * 1024**2)
    path = tmp_path / "f.yaml"
    with path.open("wb") as stream:
        stream.truncate(2 * 1024**2 + 1)
    assert refusal(path).endswith("larger than 2 MiB; split the file")


def test_paths_no_system_can_open_are_refused(tmp_path: Path) -> None:
    assert "NUL" in refusal("a\x00b")
    assert "too long" in refusal("a" * 5000)
    (tmp_path / "f").write_text("x")
    assert "below something that is not a directory" in refusal(tmp_path / "f" / "g")
