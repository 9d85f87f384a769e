"""Metrics of repeated decisions and paths, for use on your own data."""

from dfah._metrics import ConfigReport, dar, delta_dt, evaluate_episode, evaluate_group, tar, task_weighted
from dfah_cli.metrics.agreement import ModalAgreement, modal_agreement
from dfah_cli.metrics.execution import ExecutionSummary, execution_summary
from dfah_cli.metrics.fallback import BoundPoint, BoundResult
from dfah_cli.metrics.sensitivity import (
    IntervalResult,
    LOOResult,
    PermutationResult,
    SubsampleResult,
    adversarial_fallback_bound,
    case_resampling_interval,
    decision_concentration,
    first_anchored_agreement,
    leave_one_case_out,
    sign_flip_permutation,
    subsample_replays,
)
from dfah_cli.records.enums import PathMode

__all__ = [
    "BoundPoint",
    "BoundResult",
    "ConfigReport",
    "ExecutionSummary",
    "IntervalResult",
    "LOOResult",
    "ModalAgreement",
    "PathMode",
    "PermutationResult",
    "SubsampleResult",
    "adversarial_fallback_bound",
    "case_resampling_interval",
    "dar",
    "decision_concentration",
    "delta_dt",
    "evaluate_episode",
    "evaluate_group",
    "execution_summary",
    "first_anchored_agreement",
    "leave_one_case_out",
    "modal_agreement",
    "sign_flip_permutation",
    "subsample_replays",
    "tar",
    "task_weighted",
]
