import pytest

from dfah_cli.errors import ArtifactError, EligibilityError, ManifestMismatchError, SuiteVersionMismatchError
from dfah_cli.report.compare import same_statement
from dfah_cli.report.record import DetachedReport
from tests.report.build import FLAGS, FLIPPED, STABLE, a_report


def test_a_difference_is_this_report_minus_the_other() -> None:
    one, other = a_report({("t", "A"): STABLE}), a_report({("t", "A"): FLIPPED})
    assert one.compare(other) == {
        "dar": pytest.approx(1 / 3),
        "tar_seq": 0.0,
        "gap": pytest.approx(1 / 3),
        "flags_per_100_cases": 0.0,
    }


def test_different_agents_are_compared_only_on_request() -> None:
    one, other = a_report(), a_report(model="model-v2")
    with pytest.raises(ManifestMismatchError, match="manifests"):
        one.compare(other)
    assert set(one.compare(other, allow_cross_manifest=True)) == {"dar", "tar_seq", "gap", "flags_per_100_cases"}


def test_different_replays_are_never_compared() -> None:
    five = a_report({("t", "A"): [("escalate", "T")] * 5}, replays=5)
    with pytest.raises(ManifestMismatchError, match="3 and 5 replays"):
        a_report().compare(five, allow_cross_manifest=True, allow_partial=True)


def test_an_incomplete_or_empty_report_is_refused() -> None:
    partial = a_report(status={("A", 0): "tool_error"})
    with pytest.raises(EligibilityError, match="not complete"):
        a_report().compare(partial)
    assert a_report().compare(partial, allow_partial=True)
    nothing = a_report(FLAGS, status={(c, r): "refusal" for c in "ABCD" for r in range(3)})
    with pytest.raises(EligibilityError, match="no eligible"):
        a_report().compare(nothing, allow_partial=True)


def test_a_detached_report_is_no_evidence_for_a_comparison() -> None:
    detached = DetachedReport.of(a_report())
    with pytest.raises(ArtifactError, match="not evidence"):
        a_report().compare(detached)
    assert a_report().compare(detached, allow_unverified=True)["dar"] == 0.0


def test_other_suites_and_versions_are_refused() -> None:
    import attrs

    newer = attrs.evolve(a_report(), suite_version="1.1.0")
    with pytest.raises(SuiteVersionMismatchError):
        a_report().compare(newer)
    with pytest.raises(ManifestMismatchError, match="different suites"):
        a_report().compare(a_report(suite_id="other"))


def test_a_statement_that_differs_from_the_evidence_names_the_fields() -> None:
    import attrs

    stated = attrs.evolve(DetachedReport.of(a_report()), flagged_groups=0)
    with pytest.raises(ArtifactError, match="flagged_groups differ"):
        same_statement(stated, a_report())
    assert same_statement(DetachedReport.of(a_report()), a_report()) == a_report()
