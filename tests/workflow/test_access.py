"""Whether a run directory can be written to is told before it is tried."""

import subprocess
from pathlib import Path

import pytest
from attrs import evolve

from dfah_cli.errors import ExitCode
from dfah_cli.workflow.access import LEAST_ROOM, Seen, hindrance, look
from dfah_cli.workflow.diagnosis import diagnose
from tests.builders import a_replay, a_scripted_agent, replayed

FREE = Seen(mine=True, mode=0o700, writable=True, read_only=False, free=LEAST_ROOM)
RUN = Path("runs/a run")
COPY = "go on in a copy: cp -r 'runs/a run' 'a run-copy' && chmod -R u+w,go= 'a run-copy' && dfah doctor 'a run-copy'"


def test_a_directory_of_ours_with_room_hinders_nobody(tmp_path: Path) -> None:
    assert hindrance(FREE, RUN) is None
    replayed(a_scripted_agent(), tmp_path / "run")
    assert hindrance(look(tmp_path / "run"), tmp_path) is None


@pytest.mark.parametrize(
    ("change", "what", "remedy"),
    [
        ({"read_only": True, "mine": False, "free": 0}, "is on a read-only file system", COPY),
        ({"mine": False, "mode": 0o755}, "belongs to another user, at least in part", COPY),
        ({"mode": 0o750}, "may be accessed by others (mode 750)", "make it private: chmod -R go= 'runs/a run'"),
        ({"writable": False}, "may not be written to", "allow it: chmod -R u+w 'runs/a run'"),
        ({"free": LEAST_ROOM - 1}, "has 1023 KiB of room left on its disk", "free some space on that disk"),
    ],
)
def test_each_hindrance_has_its_remedy(change: dict[str, int], what: str, remedy: str) -> None:
    found = hindrance(evolve(FREE, **change), RUN)
    assert found is not None
    assert (found.what, found.remedy) == (what, remedy)


def unfinished(run: Path) -> Path:
    """A run that its budget stopped."""
    agent = a_scripted_agent(cost_usd=0.01)
    a_replay(agent, run, replays=3, budget_usd=0.03, estimated_max_episode_cost_usd=0.01).record(agent)
    return run


def test_the_advice_for_a_copy_that_lost_its_modes_is_right_when_followed(tmp_path: Path) -> None:
    run = unfinished(tmp_path / "a run")
    (run / "segments").chmod(0o755)
    run.chmod(0o755)
    found = diagnose(run)
    assert (found.state, found.rows[-1]) == ("resumable", ("access", "fail", "may be accessed by others (mode 755)"))
    first, then = found.advice
    subprocess.run(["sh", "-c", first.partition(": ")[2]], check=True)
    assert diagnose(run).advice == (then,)
    a_replay(agent := a_scripted_agent(cost_usd=0.01), run, replays=3).record(agent)
    assert diagnose(run).state == "sealed"


def test_a_sealed_run_is_hindered_by_nothing(tmp_path: Path) -> None:
    replayed(a_scripted_agent(), tmp_path / "run")
    (tmp_path / "run").chmod(0o755)
    assert (diagnose(tmp_path / "run").state, diagnose(tmp_path / "run").advice) == ("sealed", ("nothing to do",))


def test_a_log_whose_hint_is_gone_is_told_of(tmp_path: Path) -> None:
    run = unfinished(tmp_path / "run")
    assert "head" not in {check for check, _, _ in diagnose(run).rows}
    (run / "head").unlink()
    (row,) = (row for row in diagnose(run).rows if row[0] == "head")
    assert row[2] == "missing or not whole: whether the end of the log was cut off cannot be told"


def test_a_missing_plan_is_told_from_a_folder_that_is_no_run(tmp_path: Path) -> None:
    run = unfinished(tmp_path / "run")
    (run / "plan.json").unlink()
    found = diagnose(run)
    assert (found.state, found.exit_code) == ("damaged", ExitCode.BAD_EVIDENCE)
    assert found.rows[0][2].startswith("plan.json is missing. ")
    assert f"If {run} was copied here, copy it again; else restore it from a copy." in found.advice[0]


DROP = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")


def test_what_may_not_be_read_is_no_damage(tmp_path: Path) -> None:
    run = unfinished(tmp_path / "run")
    (run / "segments").chmod(0)
    program = (
        "import sys; from dfah_cli.workflow.diagnosis import diagnose\n"
        "found = diagnose(sys.argv[1]); print(found.state, int(found.exit_code), *found.advice, sep='|')"
    )
    done = _as_owner(program, run)
    (run / "segments").chmod(0o700)
    told = f"ask as the user it belongs to, or have it given to you; whose it is: ls -ld {run}"
    assert done == f"unreadable|4|{told}\n"


def _as_owner(program: str, run: Path) -> str:
    """What a program prints that has no more rights than the owner of its files."""
    import os
    import shutil
    import sys

    words = [sys.executable, "-c", program, str(run)]
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("no setpriv; run: apt-get install util-linux, or run the tests as another user than root")
        words = [*DROP, *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
