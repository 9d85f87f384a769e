"""Facts about this process and machine that tell a live writer from a dead one."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
from hashlib import sha256

from dfah_cli.store.safe_io import process_id, read_link, read_text


class Host:
    """The machine as it is; tests put a scripted one in its place."""

    def pid(self) -> int:
        return process_id()

    def new_token(self) -> str:
        """32 hex digits that no other writer has."""
        return secrets.token_hex(16)

    def hostname(self) -> str:
        return socket.gethostname()

    def boot_id(self) -> str:
        """Changes with every start of the kernel; empty when unknown."""
        if sys.platform == "darwin":
            return _command("sysctl", "-n", "kern.bootsessionuuid")
        return (read_text("/proc/sys/kernel/random/boot_id") or "").strip()

    def machine(self) -> str:
        """A digest of the machine id, which itself should stay private; empty when unknown."""
        if sys.platform == "darwin":
            found = _command("sysctl", "-n", "kern.uuid")
        else:
            found = (read_text("/etc/machine-id") or "").strip()
        return sha256(f"dfah-cli {found}".encode()).hexdigest()[:32] if found else ""

    def pid_namespace(self) -> str:
        """The process-id namespace, as the inode the kernel gives it; empty when unknown."""
        return read_link("/proc/self/ns/pid")

    def start_ticks(self, pid: int) -> str:
        """When a process started; empty when there is no such process. Tells a reused pid."""
        if sys.platform == "darwin":
            return _command("ps", "-o", "lstart=", "-p", str(pid))
        status = read_text(f"/proc/{pid}/stat")
        # The name in parentheses may hold spaces and parentheses of its own.
        fields = status.rpartition(")")[2].split() if status else ["X"]
        # A process that nobody has waited for is listed, but it is gone and holds nothing.
        return "" if fields[0] in ("Z", "X") else fields[19]


def _command(*words: str) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=5).stdout.strip()
    except (OSError, subprocess.TimeoutExpired):
        return ""
