"""A recorded run, a policy and a baseline -> the verdict and the comparison that belong together."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from attrs import frozen

from dfah_cli.evidence.verify import VerifiedRun
from dfah_cli.gate.evaluate import Gate, GateResult
from dfah_cli.gate.grounds import NONE, Grounds
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.paired import Measured
from dfah_cli.records.policy import GatePolicy
from dfah_cli.report.against import Against, held_against
from dfah_cli.report.baseline import named
from dfah_cli.report.record import Report
from dfah_cli.workflow.analyze import Analysis
from dfah_cli.workflow.baselines import load_baseline
from dfah_cli.workflow.grounds import grounds_for


@frozen(kw_only=True)
class Judged:
    """result: None without a policy. against: None without a baseline."""

    result: GateResult | None
    grounds: Grounds
    against: Against | None


def judged(found: Analysis, policy: GatePolicy | None, *, on: date, baseline: str | None = None) -> Judged:
    """The verdict of a policy on a run, and the comparison with its baseline, or with another one that is named.

    Raises: ConfigurationError when a baseline cannot be found, ArtifactError when it cannot be believed.
    """
    grounds = NONE if policy is None else grounds_for(policy, found.verified, found.measurement, on=on)
    return Judged(
        result=None if policy is None else Gate(policy).evaluate(found.report, grounds),
        grounds=grounds,
        against=against(found.report, found.verified, found.measurement, baseline or baseline_of_policy(policy)),
    )


def baseline_of_policy(policy: GatePolicy | None) -> str | None:
    """The baseline that a policy names."""
    return None if policy is None or policy.non_inferiority is None else policy.non_inferiority.baseline


def against(report: Report, run: VerifiedRun, measurement: RunMeasurement, baseline: str | None) -> Against | None:
    """The comparison of a run with a baseline, a file or a run directory; None when none is named."""
    if baseline is None:
        return None
    return held_against(load_baseline(baseline), Path(baseline).name, report, named(Measured(run.table, measurement)))
