"""Every file-system call of the store.

Access is by directory descriptor and never follows a link; what is created is owner-only, whatever the umask.
Nothing here decides anything about runs.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from dfah_cli.errors import ArtifactError, ConfigurationError, StorageError
from dfah_cli.store.filesystem import FileSystem
from dfah_cli.store.room import give_back, make_room

ANOTHER_KIND = (
    "found a link, a directory or a special file in its place. The run directory was edited; "
    "restore it from a copy, or use a new --out."
)
NO_SPACE = frozenset({errno.ENOSPC, errno.EDQUOT})

_FOLLOW_NOT = os.O_NOFOLLOW | os.O_CLOEXEC
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | _FOLLOW_NOT
_NETWORK_TYPES = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "lustre", "beegfs", "ocfs2", "gfs2"}
    | {"fuse.sshfs", "fuse.glusterfs"}
)


class PosixFiles:
    """The real thing, for Linux and macOS."""

    def __init__(self, *, private: bool = True) -> None:
        """private: refuse what others own or may access. Readers of copies, which lose modes, pass False."""
        self._private = private

    def open_root(self, path: str, *, create: bool) -> int:
        if create:
            self._make_root(os.path.abspath(path))
        try:
            handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except NotADirectoryError:
            raise ConfigurationError(f"{path} is no directory; give the directory of a run") from None
        return self._checked(handle, path, stat.S_ISDIR)

    def _make_root(self, path: str) -> None:
        if os.path.isdir(path):
            return
        parent, name = os.path.split(path)
        self._make_root(parent)
        handle = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            self.make_dir(handle, name)
            self.sync_dir(handle)
        finally:
            os.close(handle)

    def open_dir(self, parent: int, name: str) -> int:
        return self._checked(os.open(name, _DIRECTORY, dir_fd=parent), name, stat.S_ISDIR)

    def make_dir(self, parent: int, name: str) -> None:
        try:
            os.mkdir(name, 0o700, dir_fd=parent)
        except FileExistsError:
            return
        # The umask may have taken every bit, the owner's included; then only a handle by path can restore
        # them.
        if sys.platform == "linux":
            handle = os.open(name, os.O_PATH | os.O_DIRECTORY | _FOLLOW_NOT, dir_fd=parent)
            try:
                os.chmod(f"/proc/self/fd/{handle}", 0o700)
            finally:
                os.close(handle)
        else:
            os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)

    def names(self, directory: int) -> list[str]:
        return sorted(os.listdir(directory))

    def create(self, directory: int, name: str) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | _FOLLOW_NOT
        handle = os.open(name, flags, 0o600, dir_fd=directory)
        os.fchmod(handle, 0o600)
        return handle

    def open_append(self, directory: int, name: str) -> int:
        return self._checked(os.open(name, os.O_RDWR | os.O_APPEND | _FOLLOW_NOT, dir_fd=directory), name)

    def open_read(self, directory: int, name: str) -> int:
        return self._checked(os.open(name, os.O_RDONLY | os.O_NONBLOCK | _FOLLOW_NOT, dir_fd=directory), name)

    def open_overwrite(self, directory: int, name: str) -> int:
        try:
            handle = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _FOLLOW_NOT, 0o600, dir_fd=directory)
            os.fchmod(handle, 0o600)
        except FileExistsError:
            handle = os.open(name, os.O_RDWR | os.O_NONBLOCK | _FOLLOW_NOT, dir_fd=directory)
        return self._checked(handle, name)

    def _checked(self, handle: int, name: str, is_kind: Callable[[int], bool] = stat.S_ISREG) -> int:
        """The handle, when it is a file (or a directory) of ours alone.

        Raises: ArtifactError when something of another kind has the name.
        """
        found = os.fstat(handle)
        if not is_kind(found.st_mode):
            os.close(handle)
            raise ArtifactError(f"{name}: {ANOTHER_KIND}", part=name)
        fault = None
        if self._private and found.st_uid != os.geteuid():
            fault = "belongs to another user"
        elif self._private and found.st_mode & 0o077:
            fault = f"may be accessed by others (mode {stat.S_IMODE(found.st_mode):o}); run chmod -R go= on it"
        elif self._private and stat.S_ISREG(found.st_mode) and found.st_nlink > 2:
            fault = "has more names than this store gives a file"
        if fault:
            os.close(handle)
            raise ConfigurationError(f"{name} {fault}. The run directory must be private to its writer.")
        return handle

    def size(self, file: int) -> int:
        return os.fstat(file).st_size

    def read(self, file: int, size: int, offset: int) -> bytes:
        return os.pread(file, size, offset)

    def append(self, file: int, payload: bytes) -> None:
        written = os.write(file, payload)
        while written < len(payload):
            written += os.write(file, memoryview(payload)[written:])

    def make_room(self, file: int, size: int) -> None:
        make_room(file, size)

    def give_back(self, file: int) -> None:
        give_back(file)

    def overwrite(self, file: int, payload: bytes) -> None:
        if os.pwrite(file, payload, 0) != len(payload):
            raise OSError(errno.EIO, "short write")

    def sync(self, file: int) -> None:
        if sys.platform == "darwin":
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)  # fsync leaves the drive's own cache unflushed there
        else:
            os.fdatasync(file)

    def sync_new(self, file: int) -> None:
        if sys.platform == "darwin":
            fcntl.fcntl(file, fcntl.F_FULLFSYNC)
        else:
            os.fsync(file)

    def sync_dir(self, directory: int) -> None:
        os.fsync(directory)

    def link(self, directory: int, old: str, target: int, new: str) -> None:
        os.link(old, new, src_dir_fd=directory, dst_dir_fd=target, follow_symlinks=False)

    def replace(self, directory: int, old: str, new: str) -> None:
        os.replace(old, new, src_dir_fd=directory, dst_dir_fd=directory)

    def unlink(self, directory: int, name: str) -> None:
        os.unlink(name, dir_fd=directory)

    def close(self, handle: int) -> None:
        os.close(handle)

    def lock(self, file: int) -> bool:
        # flock refuses a second open even in this process; record locks (lockf) would not.
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def is_named(self, file: int, directory: int, name: str) -> bool:
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(file), os.stat(name, dir_fd=directory, follow_symlinks=False))
        return False

    def is_at(self, directory: int, path: str) -> bool:
        here = os.fstat(directory)
        try:
            there = os.stat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        return (here.st_ino, here.st_dev) == (there.st_ino, there.st_dev)

    def is_network(self, directory: int) -> bool:
        device = os.fstat(directory).st_dev
        wanted = f"{os.major(device)}:{os.minor(device)}"
        for line in (read_text("/proc/self/mountinfo") or "").splitlines():
            left, _, right = line.partition(" - ")
            if left.split()[2] == wanted:
                return right.split()[0] in _NETWORK_TYPES
        return False


def publish(fs: FileSystem, directory: int, name: str, payload: bytes) -> None:
    """A new file appears whole and durable, or not at all.

    Raises: FileExistsError when the name is taken.
    """
    temporary = write_temporary(fs, directory, name, payload)
    fs.link(directory, temporary, directory, name)
    fs.sync_dir(directory)
    fs.unlink(directory, temporary)


def replace_file(fs: FileSystem, directory: int, name: str, payload: bytes) -> None:
    """The file has the new content, or the old one; never a mixture."""
    fs.replace(directory, write_temporary(fs, directory, name, payload), name)
    fs.sync_dir(directory)


def write_temporary(fs: FileSystem, directory: int, name: str, payload: bytes) -> str:
    """The name of a durable file that has no name of its own yet."""
    temporary = name + ".tmp"
    with suppress(FileNotFoundError):
        fs.unlink(directory, temporary)
    file = fs.create(directory, temporary)
    try:
        fs.append(file, payload)
        fs.sync_new(file)
    finally:
        fs.close(file)
    return temporary


def read_file(fs: FileSystem, directory: int, name: str) -> bytes | None:
    """The whole file; None when there is none."""
    try:
        file = fs.open_read(directory, name)
    except FileNotFoundError:
        return None
    try:
        chunks, offset = [], 0
        while chunk := fs.read(file, 1 << 20, offset):
            chunks.append(chunk)
            offset += len(chunk)
        return b"".join(chunks)
    finally:
        fs.close(file)


@contextmanager
def storage_errors(doing: str) -> Iterator[None]:
    """An operating-system error inside becomes a StorageError that says what was being done."""
    try:
        yield
    except OSError as error:
        # Calls by descriptor name the file alone; a call by path says where it is in `doing`.
        place = f"{error.filename}: " if isinstance(error.filename, str) and error.filename not in doing else ""
        if error.errno in (errno.ELOOP, errno.ENOTDIR, errno.EISDIR):
            raise ArtifactError(f"{doing}: {place}{ANOTHER_KIND}") from error
        todo = " Free some space and repeat the command." if error.errno in NO_SPACE else ""
        raise StorageError(f"{doing}: {place}{error.strerror or os.strerror(error.errno or 0)}.{todo}") from error


def read_text(path: str) -> str | None:
    """A small text file of the system; None when it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return None


def read_link(path: str) -> str:
    """Where a link of the system points; empty when it cannot be read."""
    try:
        return os.readlink(path)
    except OSError:
        return ""


def absolute(path: str | os.PathLike[str]) -> str:
    """The path, from the root: what it means must not change with the working directory."""
    return os.path.abspath(path)


def process_id() -> int:
    return os.getpid()
