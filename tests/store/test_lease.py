"""One writer, and a stale lease that a caller can always recover, but never by accident."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dfah_cli.errors import ExitCode, LeaseError, StaleLeaseError, StorageError
from dfah_cli.store.host import Host
from dfah_cli.store.lease import Holder, Lease, judge_holder, my_lease
from dfah_cli.store.log import LogStore, open_writer
from tests.contract.store_contract import MANIFEST, a_plan, fixed_clock, planned


class ScriptedHost(Host):
    """A machine whose facts are given."""

    def __init__(self, **facts: str) -> None:
        self.facts = {"boot": "b1", "machine": "m1", "hostname": "h1", "pid_ns": "n1", "ticks": "7", **facts}
        self.process = 100

    def pid(self) -> int:
        return self.process

    def boot_id(self) -> str:
        return self.facts["boot"]

    def machine(self) -> str:
        return self.facts["machine"]

    def hostname(self) -> str:
        return self.facts["hostname"]

    def pid_namespace(self) -> str:
        return self.facts["pid_ns"]

    def start_ticks(self, pid: int) -> str:
        return self.facts["ticks"]


def a_lease() -> Lease:
    return my_lease(ScriptedHost(), "m" * 64, fixed_clock())


def open_with(path: Path, host: Host, **options: object):  # type: ignore[no-untyped-def]
    return LogStore(path, host=host).open_writer(
        plan_bytes=a_plan(),
        manifest_bytes=MANIFEST,
        clock=fixed_clock,
        **options,  # type: ignore[arg-type]
    )


def abandon(path: Path, host: Host) -> None:
    """A writer dies: the lock goes with its process, the lease stays."""
    writer = open_with(path, host)
    lease = (path / "lease.json").read_bytes()
    writer.close()
    (path / "lease.json").write_bytes(lease)
    (path / "lease.json").chmod(0o600)


@pytest.mark.parametrize(
    ("facts", "holder"),
    [
        ({}, Holder.ALIVE),
        ({"ticks": "8"}, Holder.DEAD),
        ({"ticks": ""}, Holder.DEAD),
        ({"hostname": "renamed"}, Holder.ALIVE),
        ({"hostname": "renamed", "ticks": ""}, Holder.DEAD),
        ({"pid_ns": "n2"}, Holder.DEAD),
        ({"boot": "b2"}, Holder.DEAD),
        ({"boot": "b2", "machine": "m2"}, Holder.ELSEWHERE),
        ({"boot": "b2", "machine": ""}, Holder.ELSEWHERE),
    ],
)
def test_the_holder_of_a_lease_is_judged_by_boot_pid_and_start(facts: dict[str, str], holder: Holder) -> None:
    assert judge_holder(a_lease(), ScriptedHost(**facts)) is holder


def test_a_second_writer_is_told_pid_host_and_age(tmp_path: Path) -> None:
    with (
        open_with(tmp_path / "run", ScriptedHost()),
        pytest.raises(LeaseError, match=r"pid 100 on host h1, since .* \(0 h 0 min 0 s ago\)") as caught,
    ):
        open_with(tmp_path / "run", ScriptedHost())
    assert caught.value.exit_code == ExitCode.LOCKED
    assert f"Another writer holds {tmp_path / 'run'}: " in str(caught.value)


def test_a_dead_writer_is_recovered_by_word_and_archived(tmp_path: Path) -> None:
    run = tmp_path / "run"
    abandon(run, ScriptedHost())
    with pytest.raises(StaleLeaseError, match="--recover-stale-lease") as caught:
        open_with(run, ScriptedHost(ticks=""))
    assert caught.value.exit_code == ExitCode.LOCKED
    assert str(run) in str(caught.value)
    left = json.loads((run / "lease.json").read_bytes())
    open_with(run, ScriptedHost(ticks=""), recover_stale_lease=True).close()
    archived = [json.loads(path.read_bytes()) for path in (run / "leases").iterdir()]
    assert archived == [left]
    assert not (run / "lease.json").exists()


def test_a_living_writer_is_not_displaced_by_word(tmp_path: Path) -> None:
    abandon(tmp_path / "run", ScriptedHost())
    with pytest.raises(LeaseError, match="alive"):
        open_with(tmp_path / "run", ScriptedHost(), recover_stale_lease=True)


def test_a_writer_on_another_machine_needs_its_token(tmp_path: Path) -> None:
    run, here = tmp_path / "run", ScriptedHost(boot="b2", machine="m2", hostname="h2")
    abandon(run, ScriptedHost())
    token = json.loads((run / "lease.json").read_bytes())["token"]
    with pytest.raises(StaleLeaseError, match=f"--lease-token {token}"):
        open_with(run, here, recover_stale_lease=True)
    open_with(run, here, recover_stale_lease=True, lease_token=token).close()


def test_an_unreadable_lease_is_archived_as_it_is(tmp_path: Path) -> None:
    run = tmp_path / "run"
    abandon(run, ScriptedHost())
    (run / "lease.json").write_bytes(b"\x00\x00")
    with pytest.raises(StaleLeaseError):
        open_with(run, ScriptedHost())
    open_with(run, ScriptedHost(), recover_stale_lease=True).close()
    archived = list((run / "leases").glob("corrupt-*.bin"))
    assert [path.read_bytes() for path in archived] == [b"\x00\x00"]


def test_a_forked_child_may_not_write(tmp_path: Path) -> None:
    host = ScriptedHost()
    with open_with(tmp_path / "run", host) as writer:
        host.process = 101
        with pytest.raises(StorageError, match="forked child"):
            writer.commit_now([planned(0, 4)])


def test_the_real_host_knows_itself() -> None:
    host = Host()
    assert host.start_ticks(host.pid()) == host.start_ticks(host.pid()) != ""
    assert host.boot_id()
    assert host.start_ticks(2**22 + 1) == ""


def test_closing_gives_the_lease_back(tmp_path: Path) -> None:
    for _ in range(3):
        open_writer(tmp_path / "run", plan_bytes=a_plan(), manifest_bytes=MANIFEST, clock=fixed_clock).close()
    assert not (tmp_path / "run" / "lease.json").exists()
    assert not (tmp_path / "run" / "reserve").exists()
