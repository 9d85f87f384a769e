"""The file of recorded tool results: owner-only, appended to, never overwritten, and never inside a run directory.

A header line, then one line a result. A result is written before the agent gets it, and made durable before the
terminal record of its episode. With a key from the environment every line after the header is encrypted:
AES-256-GCM, the key derived by scrypt with a salt of the file, a random nonce a line, bound to header and line number.
"""

from __future__ import annotations

import os
import stat
import threading
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

from attrs import evolve, field, frozen

from dfah_cli.adapter.tape import Answer, Slip
from dfah_cli.canonical import canonical_bytes, parse
from dfah_cli.errors import ArtifactError, ConfigurationError, StorageError, ValidationError
from dfah_cli.loading.files import read_bytes
from dfah_cli.records import fields
from dfah_cli.records.codec import plain, record
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.store.safe_io import PosixFiles, publish, storage_errors
from dfah_cli.workflow.line_cipher import Cipher, LineCipher

FORMAT = "dfah-tools-1"
SAME = ("suite_id", "suite_version", "fixture_hash", "tool_schema_hash")


@frozen(kw_only=True)
class Header:
    """The first line. run_plan_sha256: the run that recorded. cipher: None when the lines are plain."""

    format: str = field(default=FORMAT, validator=fields.one_of(FORMAT))
    suite_id: str = field(validator=fields.public_name)
    suite_version: str = field(validator=fields.semver)
    fixture_hash: str = field(validator=fields.digest64)
    tool_schema_hash: str = field(validator=fields.digest64)
    run_plan_sha256: str = field(validator=fields.digest64)
    cipher: Cipher | None = field(default=None, validator=fields.optional(fields.instance_of(Cipher)))


@frozen(kw_only=True)
class _Line:
    """One recorded result."""

    slip: Slip = field(validator=fields.instance_of(Slip))
    replay_index: int = field(validator=fields.count)
    answer: Answer = field(validator=fields.instance_of(Answer))


@frozen(kw_only=True)
class Recording:
    """A recording that was read. sha256: of the whole file."""

    sha256: str
    header: Header
    answers: dict[Slip, dict[int, Answer]]

    def check_suite(self, plan: RunPlan, where: str) -> None:
        """Nothing, when it was made on the cases and tools of this plan; the agent may be another.

        Raises: ConfigurationError naming what differs.
        """
        differing = [name for name in SAME if getattr(self.header, name) != getattr(plan, name)]
        if differing:
            raise ConfigurationError(
                f"{where}: recorded on other cases or tools ({', '.join(differing)} differ); record again on this suite"
            )


def read_recording(path: Path, secret: str | None, key_env: str | None = None) -> Recording:
    """The recording in a file.

    secret: the value of the variable `key_env`; None when none is named.
    Raises: ConfigurationError when there is none or it cannot be opened; ArtifactError when it was altered or cut off.
    """
    try:
        payload = read_bytes(str(path), any_size=True)
    except ConfigurationError as problem:
        raise ConfigurationError(f"tools_file: {problem}; make one with tools=record") from None
    header, lines = _split(payload, path)
    if not payload.endswith(b"\n"):
        raise ArtifactError(f"{path}: ends within a line; finish it with the command that recorded it")
    opened = _opened(header, lines, secret, key_env, path)
    answers: dict[Slip, dict[int, Answer]] = {}
    for line in opened:
        of_call = answers.setdefault(line.slip, {})
        if line.replay_index in of_call:
            raise ArtifactError(f"{path}: one call stands there twice; the file was edited, restore it or record again")
        of_call[line.replay_index] = line.answer
    return Recording(sha256=sha256(payload).hexdigest(), header=_header(header, path), answers=answers)


def _split(payload: bytes, path: Path) -> tuple[bytes, list[bytes]]:
    header, *lines = payload.split(b"\n")
    return header, lines[:-1]


def _header(line: bytes, path: Path) -> Header:
    try:
        return record(Header, parse(line))
    except ValidationError:
        raise ArtifactError(f"{path}: no recording of tool results ({FORMAT}); make one with tools=record") from None


def _opened(header: bytes, lines: list[bytes], secret: str | None, key_env: str | None, path: Path) -> Iterator[_Line]:
    cipher = _cipher(_header(header, path), header, secret, key_env, path)
    for number, text in enumerate(lines, 1):
        try:
            opened = text if cipher is None else cipher.opened(b64decode(text, validate=True), number)
            line = record(_Line, parse(opened))
            # What cannot be given again is a fault of the file, not of the agent that asks for it.
            line.answer.again()
            yield line
        except (ValidationError, Base64Error, ValueError):
            raise ArtifactError(f"{path} line {number + 1}: altered; restore the file or record again") from None


def _cipher(header: Header, line: bytes, secret: str | None, key_env: str | None, path: Path) -> LineCipher | None:
    if header.cipher is None and secret is None:
        return None
    if header.cipher is None:
        raise ConfigurationError(f"{path}: not encrypted, and a key is named; leave tools_key_env out")
    if secret is None:
        raise ConfigurationError(f"{path}: encrypted; name the variable that has its key: tools_key_env=NAME")
    cipher = LineCipher.of(header.cipher, secret, bound_to=_without_check(line))
    if not cipher.is_right(header.cipher):
        raise ConfigurationError(f"{path}: the key in {key_env} is not the one it was encrypted with")
    return cipher


def _without_check(line: bytes) -> bytes:
    """What the lines are bound to: the header but for the text that shows a wrong key."""
    value = parse(line)
    return canonical_bytes({**value, "cipher": {**value["cipher"], "check": ""}})


class RecordingFile:
    """A recording that is being made; used as a context manager by one run at a time."""

    def __init__(self, path: Path, plan: RunPlan, secret: str | None, *, key_env: str | None, started: bool) -> None:
        """started: whether this very run has recorded something already; then its file is continued.

        Raises: ConfigurationError when the file is another run's, in use, or was never made and should have been.
        """
        self._fs, self._path, self._lock = PosixFiles(private=False), path, threading.Lock()
        self._failed = False
        with storage_errors(f"tools_file {path}"):
            self._directory = self._fs.open_root(str(path.parent), create=True)
            try:
                self._file = self._opened(plan, secret, key_env, started)
            except BaseException:
                self._fs.close(self._directory)
                raise

    def _opened(self, plan: RunPlan, secret: str | None, key_env: str | None, started: bool) -> int:
        if not _is_there(self._path):
            if started:
                raise ConfigurationError(
                    f"tools_file: {self._path} is gone, and the run has recorded in it; restore it, or use another out"
                )
            publish(self._fs, self._directory, self._path.name, _new_header(plan, secret) + b"\n")
        file = self._fs.open_append(self._directory, self._path.name)
        try:
            self._continue(file, plan, secret, key_env, started)
        except BaseException:
            self._fs.close(file)
            raise
        return file

    def _continue(self, file: int, plan: RunPlan, secret: str | None, key_env: str | None, started: bool) -> None:
        if not self._fs.lock(file):
            raise ConfigurationError(f"tools_file: another run is recording into {self._path}; give another name")
        payload = self._path.read_bytes()
        line, lines = _split(payload, self._path)
        _check_own(self._path, line, plan, empty=started or not lines)
        self._cipher = _cipher(_header(line, self._path), line, secret, key_env, self._path)
        self._number = len(lines)
        # What a crash cut off was never given to an agent.
        whole = payload.rfind(b"\n") + 1
        if whole < len(payload):
            os.ftruncate(file, whole)
            self._fs.sync(file)

    def __enter__(self) -> RecordingFile:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._fs.close(self._file)
            self._fs.close(self._directory)

    def keep(self, slip: Slip, replay_index: int, answer: Answer) -> None:
        """Appends one result.

        Raises: StorageError when it cannot be written; the run then ends with its episode.
        """
        text = canonical_bytes(plain(_Line(slip=slip, replay_index=replay_index, answer=answer)))
        with self._lock, storage_errors(f"tools_file {self._path}"):
            if self._failed:
                raise StorageError(f"tools_file {self._path}: an earlier result could not be written.")
            self._failed = True
            number = self._number + 1
            line = text if self._cipher is None else b64encode(self._cipher.sealed(text, number))
            self._fs.append(self._file, line + b"\n")
            self._number, self._failed = number, False

    def sync(self) -> None:
        """Makes every kept result durable.

        Raises: StorageError when that failed, or when a result could not be written.
        """
        with self._lock, storage_errors(f"tools_file {self._path}"):
            if self._failed:
                raise StorageError(f"tools_file {self._path}: a tool result could not be written.")
            self._fs.sync(self._file)

    @property
    def sha256(self) -> str:
        """Digest of the file as it is now: what a replay of it is bound to."""
        return sha256(self._path.read_bytes()).hexdigest()


def _new_header(plan: RunPlan, secret: str | None) -> bytes:
    header = Header(
        **{name: getattr(plan, name) for name in SAME},
        run_plan_sha256=plan.sha256,
        cipher=None if secret is None else Cipher.fresh(),
    )
    if header.cipher is None or secret is None:
        return canonical_bytes(plain(header))
    bound_to = _without_check(canonical_bytes(plain(header)))
    check = LineCipher.of(header.cipher, secret, bound_to=bound_to).check()
    return canonical_bytes(plain(evolve(header, cipher=evolve(header.cipher, check=check))))


def check_new(path: Path, run_dir: Path, plan: RunPlan) -> None:
    """Nothing, unless the run is yet to be made and may not record into the file: then nothing is made.

    Raises: ConfigurationError.
    """
    if (run_dir / "plan.json").exists() or not _is_there(path):
        return
    line, lines = _split(path.read_bytes(), path)
    _check_own(path, line, plan, empty=not lines)


def _is_there(path: Path) -> bool:
    if not os.path.lexists(path):
        return False
    if not stat.S_ISREG(os.lstat(path).st_mode):
        raise ConfigurationError(
            f"tools_file: {path} is a link, a directory or a special file; give the name of a new file"
        )
    return True


def _check_own(path: Path, header: bytes, plan: RunPlan, *, empty: bool) -> None:
    try:
        bound_to = _header(header, path).run_plan_sha256
    except ArtifactError:
        bound_to = None
    if bound_to != plan.sha256 or not empty:
        found = "something else" if bound_to is None else "a recording"
        raise ConfigurationError(
            f"tools_file: {path} holds {found} already, which is never overwritten; give another name"
        )


def outside_of(path: Path, run_dir: object) -> Path:
    """The path, absolute, when it is no place in a run directory.

    Raises: ConfigurationError when it is.
    """
    place = Path(os.path.realpath(path.parent), path.name)
    inside = place.is_relative_to(os.path.realpath(str(run_dir)))
    if inside or any((parent / "plan.json").exists() and (parent / "segments").exists() for parent in place.parents):
        raise ConfigurationError(
            f"tools_file: {path} is inside a run directory, which holds no plain results; put it elsewhere"
        )
    return place
