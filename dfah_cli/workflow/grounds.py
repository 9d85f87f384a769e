"""What a gate is decided on, gathered from a verified run. Reads a baseline where the policy names one."""

from __future__ import annotations

from datetime import date

from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.gate.grounds import Grounds
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.paired import Measured
from dfah_cli.records.policy import GatePolicy
from dfah_cli.workflow.baselines import load_baseline
from dfah_cli.workflow.plan_order import earlier_looks, plan_prefix


def grounds_for(policy: GatePolicy, run: VerifiedRun, measurement: RunMeasurement, *, on: date) -> Grounds:
    """The grounds for a policy on a run, as of a day.

    Raises: ConfigurationError when the baseline cannot be found, ArtifactError when it cannot be believed.
    """
    asked = policy.non_inferiority
    return Grounds(
        measured=Measured(run.table, measurement),
        baseline=None if asked is None else load_baseline(asked.baseline),
        on=on,
        tries=1 if policy.require_complete else earlier_looks(run.gates, run.reports, run.commitment) + 1,
        prefix=plan_prefix(run, measurement) if policy.stop == "anytime" else None,
    )
