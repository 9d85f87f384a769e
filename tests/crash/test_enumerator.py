"""No crash loses an acknowledged episode, sends one twice, or leaves a run that is refused.

Exhaustive at two crashes; `-s` shows how many states were run to their end. `make soak` samples three crashes.
"""

from __future__ import annotations

import pytest

from tests.crash.explore import Explorer, Found, Mode, State, after
from tests.crash.mutants import MUTANTS, Mutant
from tests.crash.scenario import Oracle, Recording, Scenario
from tests.crash.sim_fs import Disk

NOTHING = State(Disk(), Oracle(), 0)

ONE_CRASH = [Mode("k"), Mode("p"), Mode("p", powersafe=False)]
TWO_CRASHES = [Mode("kk"), Mode("pp", powersafe=False), Mode("kp")]
THREE_CRASHES = [Mode("kkk"), Mode("ppp", powersafe=False), Mode("kpk"), Mode("pkp", powersafe=False)]


def name_of(mode: Mode) -> str:
    words = {"k": "kill", "p": "power"}
    return "-".join(words[crash] for crash in mode.crashes) + ("" if mode.powersafe else "-unsafe-overwrite")


def explore(mode: Mode, scenario: type[Scenario], start: State, sample: int = 0) -> int:
    states = Explorer(mode, scenario, sample).explore(start)
    print(f"{name_of(mode)}, {scenario.__name__.lower()}: {states} states, no broken promise")
    return states


@pytest.mark.parametrize("mode", ONE_CRASH, ids=name_of)
def test_a_whole_run_survives_one_crash_anywhere(mode: Mode) -> None:
    assert explore(mode, Scenario, NOTHING) > 90


@pytest.mark.slow
@pytest.mark.parametrize("mode", TWO_CRASHES, ids=name_of)
def test_recording_survives_a_crash_and_another_in_the_recovery(mode: Mode) -> None:
    assert explore(mode, Recording, NOTHING) > 800


@pytest.mark.slow
@pytest.mark.parametrize("mode", TWO_CRASHES, ids=name_of)
def test_concluding_survives_a_crash_and_another_in_the_recovery(mode: Mode) -> None:
    assert explore(mode, Scenario, after(Recording)) > 600


@pytest.mark.soak
@pytest.mark.parametrize("mode", THREE_CRASHES, ids=name_of)
def test_a_whole_run_survives_three_crashes_sampled(mode: Mode) -> None:
    assert explore(mode, Scenario, NOTHING, sample=6) > 1000


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=MUTANTS.keys())
def test_the_enumerator_finds_the_seeded_mistake(mutant: Mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant.seed(monkeypatch)
    # Nobody would notice it without a crash.
    assert Explorer(Mode(""), mutant.scenario).explore() == 1
    with pytest.raises(Found):
        Explorer(mutant.mode, mutant.scenario).explore()


def test_power_loss_alone_does_not_find_what_a_kill_before_it_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS["build on what is only in the page cache"].seed(monkeypatch)
    assert explore(Mode("p"), Recording, NOTHING) > 90
