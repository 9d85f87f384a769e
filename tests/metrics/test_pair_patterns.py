from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.metrics.comparison import drift_exact_p, signflip_exact_p
from dfah_cli.metrics.pair_patterns import patterns_of
from dfah_cli.metrics.paired import Joint, decisions, metrics_at, pair, sequences
from dfah_cli.metrics.table import GroupKey
from dfah_cli.metrics.versus import compare_runs

VALUES = st.tuples(st.sampled_from("YN"), st.sampled_from(["a", "b"]), st.sampled_from(["p", "q", None]))
JOINTS = st.lists(VALUES, min_size=3, max_size=3).map(Counter)
RUNS = st.lists(st.tuples(st.sampled_from(["t", "u"]), JOINTS, JOINTS), min_size=1, max_size=6)


def sides(cases: list[tuple[str, Joint, Joint]]) -> tuple[dict[GroupKey, Joint], dict[GroupKey, Joint]]:
    keys = [GroupKey(task, str(number)) for number, (task, _, _) in enumerate(cases)]
    return tuple(dict(zip(keys, (case[side] for case in cases), strict=True)) for side in (1, 2))  # type: ignore[return-value]


@given(RUNS)
def test_what_is_worked_out_per_pattern_is_what_each_case_says(cases: list[tuple[str, Joint, Joint]]) -> None:
    pairing = pair(*sides(cases))
    patterns = patterns_of(pairing)
    changes = patterns.changes()
    for place, case in enumerate(pairing.cases):
        before, after = metrics_at(case.base, 3), metrics_at(case.candidate, 3)
        for name, values in changes.items():
            assert values[patterns.case[place]] == after[name] - before[name]
    assert {"dar", "tar.seq", "gap", "sequence_flags"} <= set(changes)


@given(RUNS)
def test_tests_over_patterns_are_those_over_cases(cases: list[tuple[str, Joint, Joint]]) -> None:
    found = compare_runs(*sides(cases))
    for level, values in (("decision", decisions), ("path.seq", sequences)):
        one = drift_exact_p([(values(base), values(candidate)) for _, base, candidate in cases])
        assert found.drift[level].mean == one.mean
        assert abs(found.drift[level].p - one.p) < 1e-9
    for alarm in found.alarms:
        if alarm.metric == "dar":
            mine = [(base, candidate) for task, base, candidate in cases if task == alarm.task]
            moved = [int(3 * (metrics_at(c, 3)["dar"] - metrics_at(b, 3)["dar"])) for b, c in mine]
            assert abs(alarm.p - signflip_exact_p(moved)) < 1e-12


@given(RUNS)
def test_flips_are_the_cases_whose_modes_moved(cases: list[tuple[str, Joint, Joint]]) -> None:
    def modes(joint: Joint) -> set[str]:
        counts = decisions(joint)
        return {label for label, many in counts.items() if many == max(counts.values())}

    moved = {str(number) for number, (_, base, now) in enumerate(cases) if modes(base) != modes(now)}
    assert {flip.case_id for flip in compare_runs(*sides(cases)).flips} == moved
