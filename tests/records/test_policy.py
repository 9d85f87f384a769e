from __future__ import annotations

from typing import Any

import pytest

from dfah_cli.errors import ValidationError
from dfah_cli.loading.policies import policy_from
from dfah_cli.records.codec import plain, record
from dfah_cli.records.policy import CaseGatePolicy, GatePolicy, NonInferiorityPolicy, Waiver

KNOWN = "398a8aa7c1d83998977b89e2b0430e9b786d51019f51c928da45f18133a79da5"


def test_a_policy_without_new_keys_keeps_its_digest() -> None:
    assert GatePolicy(min_dar=0.9).sha256 == KNOWN


def test_a_new_key_at_its_default_changes_no_digest() -> None:
    spelled = GatePolicy(min_dar=0.9, evidence="point", confidence=0.95, stop="never", by_case=(), waivers=[])
    assert spelled.sha256 == KNOWN


@pytest.mark.parametrize(
    "changed",
    [
        {"evidence": "confident"},
        {"confidence": 0.99},
        {"at_replays": 3},
        {"non_inferiority": NonInferiorityPolicy(baseline="base.json", dar=0.05)},
        {"by_case": (CaseGatePolicy(case="*", min_dar=1.0),)},
        {"waivers": (Waiver(case="C", reason="known", expires="2026-12-31"),)},
        {"max_attempts": 2},
        {"stop": "when-settled"},
    ],
)
def test_every_new_key_is_part_of_the_digest_when_it_is_used(changed: dict[str, Any]) -> None:
    policy = GatePolicy(min_dar=0.9, **changed)
    assert policy.sha256 != KNOWN
    assert record(GatePolicy, plain(policy)) == policy
    assert policy_from(plain(policy)) == policy


@pytest.mark.parametrize(
    "wrong",
    [
        {"evidence": "bayesian"},
        {"confidence": 1.0},
        {"at_replays": 1},
        {"max_attempts": 0},
        {"stop": "always"},
        {"stop": "anytime", "max_flags_per_100_cases": 5},
        {"stop": "anytime", "evidence": "confident", "min_dar": 0.9, "max_flags_per_100_cases": 5},
        {"stop": "when-settled", "at_replays": 3},
    ],
)
def test_what_cannot_be_meant_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="GatePolicy"):
        GatePolicy(**wrong)


def test_a_waiver_needs_a_day_and_a_margin_is_needed() -> None:
    for expires in ("soon", "2026-13-01", "20261231"):
        with pytest.raises(ValidationError, match="expires"):
            Waiver(case="C", reason="known", expires=expires)
    with pytest.raises(ValidationError, match="no margin"):
        NonInferiorityPolicy(baseline="base.json")


def test_one_case_has_one_rule() -> None:
    with pytest.raises(ValidationError, match=r"case that stands more than once \(.C.\)"):
        GatePolicy(by_case=(CaseGatePolicy(case="C"), CaseGatePolicy(case="C")))


def test_margins_without_a_baseline_are_refused_and_say_so() -> None:
    with pytest.raises(ValidationError, match=r"NonInferiorityPolicy.baseline: found null; expected a string"):
        policy_from({"non_inferiority": {"baseline": None, "dar": 0.1}})
