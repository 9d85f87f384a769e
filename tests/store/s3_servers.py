"""S3-compatible servers on loopback, started and ended by the tests."""

from __future__ import annotations

import http.client
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

SKIPPED = "no server; run: make services"
BUCKET = "runs"
START_S = 60.0


def environment(endpoint: str) -> dict[str, str]:
    """What a client needs to know; nothing of it is a secret."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "S3RVER",
        "AWS_SECRET_ACCESS_KEY": "S3RVER",
        "AWS_REGION": "us-east-1",
    }


@contextmanager
def seaweedfs(folder: Path) -> Iterator[str]:
    """The endpoint of a SeaweedFS with a bucket in it."""
    weed = Path(sys.executable).parent / "weed"
    if not weed.exists():
        pytest.skip(SKIPPED)
    ports = free_ports(5)
    names = ("-master.port", "-volume.port", "-filer.port", "-s3.port", "-webdav.port")
    # The other listeners of each are at its port and 10000.
    numbers = [f"{name}={port}" for name, port in zip(names[:4], ports, strict=False)]
    command = [str(weed), "-logtostderr=false", f"-logdir={folder}", "server", f"-dir={folder}", "-ip=127.0.0.1"]
    command += [
        "-ip.bind=127.0.0.1",
        "-s3",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
        "-master.volumeSizeLimitMB=64",
        "-volume.max=0",
        *numbers,
    ]
    with _running(command, folder, ports[3]):
        _make_bucket(f"http://127.0.0.1:{ports[3]}")
        yield f"http://127.0.0.1:{ports[3]}"


@contextmanager
def s3rver(folder: Path) -> Iterator[str]:
    """The endpoint of a server that ignores conditional writes: the negative control."""
    program = Path(sys.prefix) / "node" / "node_modules" / ".bin" / "s3rver"
    if not program.exists() or shutil.which("node") is None:
        pytest.skip(SKIPPED)
    (port,) = free_ports(1)
    command = [str(program), "-d", str(folder), "-a", "127.0.0.1", "-p", str(port), "--configure-bucket", BUCKET]
    with _running(command, folder, port):
        yield f"http://127.0.0.1:{port}"


def free_ports(count: int) -> list[int]:
    """Ports that are free now, and whose partners 10000 above are too."""
    found: list[int] = []
    while len(found) < count:
        with socket.socket() as one, socket.socket() as other:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
            if port > 55_000 or port in found:
                continue
            try:
                other.bind(("127.0.0.1", port + 10_000))
            except OSError:
                continue
            found.append(port)
    return found


@contextmanager
def _running(command: list[str], folder: Path, port: int) -> Iterator[None]:
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=folder)
    try:
        _until_open(process, port)
        yield
    finally:
        process.kill()
        process.wait()


def _until_open(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "the server ended"
        with socket.socket() as client:
            if client.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def _make_bucket(endpoint: str) -> None:
    """A bucket, once the server takes writes."""
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if _put(endpoint, f"/{BUCKET}") in (200, 409) and _put(endpoint, f"/{BUCKET}/ready") == 200:
            return
        time.sleep(0.2)
    raise AssertionError("the server takes no writes")


def _put(endpoint: str, path: str) -> int:
    client = http.client.HTTPConnection(endpoint.removeprefix("http://"), timeout=10)
    try:
        client.request("PUT", path, body=b"")
        return client.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        client.close()


def client_environment(endpoint: str) -> dict[str, str]:
    """The environment of a process that talks to the server."""
    return {**os.environ, **environment(endpoint)}
