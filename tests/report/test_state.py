import attrs
import pytest

from dfah_cli.errors import ValidationError
from dfah_cli.records.enums import ReplayMode, ReportStatus
from dfah_cli.report.cases import TARReport
from dfah_cli.report.record import Report
from dfah_cli.report.state import report_status
from tests.report.build import ARGS, FLIPPED, MULTIPLICITY, ORDER, STABLE, TOOL_SET, a_report


def one(replays: list[tuple[str, str]]) -> Report:
    return a_report({("default", "A"): replays}, replays=len(replays))


@pytest.mark.parametrize(
    ("replays", "dar", "seq", "bag", "set_", "strong", "gap", "kind", "flags", "sequence_flags"),
    [
        (STABLE, 1, 1, 1, 1, 1, 0, "none", 0, 0),
        (ORDER, 1, 2 / 3, 1, 1, 2 / 3, 1 / 3, "order_only", 100, 100),
        (MULTIPLICITY, 1, 2 / 3, 2 / 3, 1, 2 / 3, 1 / 3, "multiplicity", 100, 100),
        (TOOL_SET, 1, 2 / 3, 2 / 3, 2 / 3, 2 / 3, 1 / 3, "tool_set", 100, 100),
        (ARGS, 1, 1, 1, 1, 2 / 3, 0, "argument_or_result", 100, 0),
        ([("escalate", ""), ("escalate", "T"), ("escalate", "T")], 1, *[2 / 3] * 4, 1 / 3, "tool_set", 100, 100),
        (FLIPPED, 2 / 3, 1, 1, 1, 1, -1 / 3, "none", 0, 0),
    ],
)
def test_one_case_reports_the_published_vector(
    replays: list[tuple[str, str]],
    dar: float,
    seq: float,
    bag: float,
    set_: float,
    strong: float,
    gap: float,
    kind: str,
    flags: float,
    sequence_flags: float,
) -> None:
    report = one(replays)
    assert report.tar is not None
    found = (report.dar, report.tar.seq, report.tar.bag, report.tar.set, report.tar.strong, report.gap)
    assert found == pytest.approx((dar, seq, bag, set_, strong, gap), abs=1e-12)
    assert report.case_reports[0].path_variation_kind == kind
    assert (report.flags_per_100_cases, report.sequence_flags_per_100_cases) == (flags, sequence_flags)


def test_aggregates_weight_tasks_and_flags_pool_them() -> None:
    report = a_report()
    assert report.tar is not None
    numbers = (report.dar, report.tar.seq, report.tar.strong, report.flags_per_100_cases)
    assert numbers == pytest.approx((11 / 12, 5 / 6, 0.75, 50.0), abs=1e-12)
    assert report.sequence_flags_per_100_cases == 25.0
    queue = {kind.value: count for kind, count in report.review_queue_breakdown.items()}
    assert queue == {"argument_or_result": 1, "order_only": 1, "multiplicity": 0, "tool_set": 0}


def test_one_bad_replay_drops_its_group_and_makes_the_report_partial() -> None:
    report = a_report({("default", "A"): STABLE, ("default", "B"): STABLE}, status={("A", 1): "parse_failure"})
    assert report.status is ReportStatus.PARTIAL
    assert (report.dar, report.episodes_eligible, report.ineligible_groups) == (1.0, 3, 1)
    assert [(r.reason, r.groups) for r in report.ineligibility_reasons] == [
        ("decision_missing_or_invalid", 1),
        ("terminal_status_parse_failure", 1),
    ]
    assert report.partial_reason == "ineligible_groups"
    assert report.eligible_fraction == 0.5


def test_nothing_eligible_leaves_every_aggregate_unavailable() -> None:
    report = a_report({("default", "A"): STABLE}, status={("A", i): "provider_error" for i in range(3)})
    unavailable = (
        report.dar,
        report.tar,
        report.gap,
        report.flags_per_100_cases,
        report.sequence_flags_per_100_cases,
        report.unanimous_with_path_change_rate,
    )
    assert unavailable == (None,) * 6
    assert not report.metrics_available
    assert report.content["dar"] is None


def test_nothing_recorded_is_ineligible_and_has_no_time() -> None:
    report = a_report({("default", "A"): []}, last_at=None)
    assert (report.status, report.created_at, report.partial_reason) == ("ineligible", None, "episodes_missing")


@pytest.mark.parametrize(
    ("planned", "committed", "eligible", "over", "status"),
    [
        (6, 6, 6, False, "complete"),
        (6, 6, 5, False, "partial"),
        (6, 5, 5, False, "partial"),
        (6, 6, 6, True, "partial"),
        (6, 0, 0, True, "partial"),
        (6, 0, 0, False, "ineligible"),
    ],
)
def test_status_follows_what_was_committed_and_counted(
    planned: int, committed: int, eligible: int, over: bool, status: str
) -> None:
    assert report_status(planned, committed, eligible, over) == status


def test_equal_evidence_gives_the_same_identity_and_any_difference_another() -> None:
    assert a_report().report_sha256 == a_report().report_sha256
    assert a_report().report_id == a_report().report_sha256[:32]
    assert a_report(mode=ReplayMode.BLOCKING).report_sha256 != a_report().report_sha256
    assert a_report(model="model-v2").report_sha256 != a_report().report_sha256


def test_a_budget_stop_is_said() -> None:
    report = a_report({("default", "A"): STABLE, ("default", "B"): []}, stop_reason="budget_stop")
    assert (report.status, report.budget_exceeded, report.partial_reason) == ("partial", True, "budget_stop")


def test_ladder_steps_add_up_to_one_minus_strong_agreement() -> None:
    groups = {
        ("t", "A"): [
            ("escalate", "kyc score=1"),
            ("escalate", "kyc score=2>2"),
            ("escalate", "score=1 kyc"),
            ("escalate", "kyc kyc score=1"),
            ("escalate", "kyc score=1>9"),
        ]
    }
    ladder = a_report(groups, replays=5).task_reports[0].ladder
    steps = (ladder.tools, ladder.count, ladder.order, ladder.arguments, ladder.results)
    assert steps == pytest.approx((0.0, 0.4, 0.3, 0.2, 0.1), abs=1e-12)


def test_a_finer_level_above_a_coarser_one_is_refused() -> None:
    with pytest.raises(ValidationError, match="bag is above set"):
        TARReport(seq=0.5, bag=0.9, set=0.8, strong=0.5)
    with pytest.raises(ValidationError, match="strong is above"):
        TARReport(seq=0.5, bag=0.9, set=1.0, strong=0.6)


def test_a_number_that_is_not_its_exact_share_is_refused() -> None:
    with pytest.raises(ValidationError, match="dar"):
        attrs.evolve(a_report(), dar=0.5)
