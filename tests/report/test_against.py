from attrs import evolve

from dfah_cli.gate.outcome import gate_view
from dfah_cli.metrics.measure import measure
from dfah_cli.metrics.paired import Measured
from dfah_cli.report.against import Against, held_against
from dfah_cli.report.against_view import AgainstView, against_view
from dfah_cli.report.baseline import Baseline, baseline_of, named
from dfah_cli.report.limits import intervals_by_name
from dfah_cli.report.record import Report
from dfah_cli.report.state import state_report
from tests.report.build import ARGS, FLAGS, FLIPPED, ORDER, STABLE, Groups, a_run

DISMISS = [("dismiss", "T U")] * 3
OLD: Groups = {("t", "A"): STABLE, ("t", "B"): ORDER, ("t", "C"): STABLE, ("u", "D"): STABLE}
NEW: Groups = {("t", "A"): DISMISS, ("t", "B"): FLIPPED, ("t", "C"): ARGS, ("u", "D"): STABLE}


def stated(groups: Groups, *, replays: int = 3, **differences: object) -> tuple[Report, Measured]:
    run = a_run(groups, replays=replays, **differences)  # type: ignore[arg-type]
    numbers = measure(run.table, replays=replays)
    return state_report(run, numbers), Measured(run.table, numbers)


def pinned(groups: Groups, **differences: object) -> Baseline:
    return baseline_of(*stated(groups, **differences))  # type: ignore[arg-type]


def held(old: Groups, new: Groups, base: Baseline | None = None, **differences: object) -> Against:
    report, measured = stated(new, **differences)  # type: ignore[arg-type]
    return held_against(base or pinned(old), "base.json", report, named(measured))


def shown(old: Groups, new: Groups, base: Baseline | None = None, **differences: object) -> AgainstView:
    return against_view(held(old, new, base, **differences))


def test_both_sides_are_the_numbers_of_their_own_reports() -> None:
    moves = {move.key: move for move in held(OLD, NEW).moves}
    for groups, side in ((OLD, "base"), (NEW, "now")):
        report, _ = stated(groups)
        known = intervals_by_name(report)
        assert report.tar is not None
        for key, name, value in (
            ("dar", "dar", report.dar),
            ("tar_seq", "tar.seq", report.tar.seq),
            ("gap", "gap", report.gap),
            ("flags_per_100_cases", "flags_per_100", report.flags_per_100_cases),
            ("pairwise_decision", "pairwise.decision", report.pairwise_decision),
        ):
            mine = getattr(moves[key], side)
            assert (mine.value, mine.low, mine.high) == (value, known[name].low, known[name].high), (key, side)


def test_flips_and_flags_are_named() -> None:
    found = shown(OLD, NEW)
    assert [(flip.case_id, flip.old, flip.new) for flip in found.flips] == [("A", "escalate", "dismiss")]
    assert (found.newly_flagged, found.no_longer_flagged) == (("C",), ("B",))
    assert "1 of them because the decision is not unanimous" in found.flags


def test_a_flip_that_chance_may_explain_is_told_as_such() -> None:
    assert (
        "changed the most frequent decision since the baseline: chance may explain it (p = " in shown(OLD, NEW).sentence
    )
    many = {("t", f"C{i}"): STABLE for i in range(9)}
    moved = dict.fromkeys(many, DISMISS)
    assert (
        "9 of 9 cases changed the most frequent decision since the baseline: more than" in shown(many, moved).sentence
    )


def test_the_same_evidence_moved_nowhere() -> None:
    found = shown(FLAGS, FLAGS)
    assert found.sentence.startswith("Nothing moved more than chance explains")
    assert found.flips == ()
    assert {row.change for row in found.rows} == {"0.000", "0.0"}
    assert "Both are the same evidence." in found.remarks


def test_other_cases_are_refused_with_the_reason() -> None:
    other = evolve(pinned(OLD), fixture_hash="9" * 64, suite_version="2.0.0")
    found = shown(OLD, NEW, other)
    assert found.refused == "it is not about the same cases: suite version, cases of the suite differ"
    assert found.rows == found.flips == ()
    nothing = held({("t", "A"): STABLE}, {("t", "B"): STABLE})
    assert "no case is eligible in both runs" in (nothing.refused or "")


def test_unequal_replays_and_another_manifest_are_remarked() -> None:
    five: Groups = {key: [*replays, *replays[:2]] for key, replays in NEW.items()}
    found = shown(OLD, five, replays=5, model="model-v2")
    assert any("both are seen at 3" in remark for remark in found.remarks)
    assert any("manifest is another" in remark for remark in found.remarks)
    assert found.flags == ""


def test_cases_lost_on_one_side_are_named() -> None:
    found = shown(OLD, NEW, status={("A", 0): "refusal"})
    assert "Eligible on one side only, 1 of the baseline: A." in found.remarks
    assert "The run is partial, not complete." in found.remarks
    assert found.scope == "3 cases eligible in both, 3 replays each"


def test_a_check_against_the_baseline_stands_with_its_number() -> None:
    from dfah_cli.gate.checks import GateCheck, GateResult, Verdict

    check = GateCheck(name="non_inferiority.dar", passed=False, verdict=Verdict.FAIL, observed=-0.2, expected=-0.05)
    rows = {row.key: row.gate for row in against_view(held(OLD, NEW), gate_view(GateResult.of((check,)))).rows}
    assert rows["dar"] is not None
    assert rows["dar"].verdict == "fail"
    assert rows["gap"] is None
