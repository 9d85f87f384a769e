import pytest

from dfah_cli.gate.evaluate import Gate, GateCheck, GateResult, Verdict
from dfah_cli.gate.outcome import gate_rows, judge
from dfah_cli.records.enums import ReplayMode
from dfah_cli.records.policy import GatePolicy
from tests.report.build import a_report

PASSING = Gate(GatePolicy()).evaluate(a_report())
FAILING = Gate(GatePolicy(min_dar=1.0)).evaluate(a_report())
OPEN = GateResult.of((GateCheck(name="dar", passed=False, observed=1, expected=1, verdict=Verdict.INCONCLUSIVE),))


@pytest.mark.parametrize(
    ("result", "mode", "complete", "code"),
    [
        (None, "shadow", True, 0),
        (PASSING, "shadow", True, 0),
        (PASSING, "blocking", True, 0),
        (FAILING, "shadow", True, 0),
        (FAILING, "blocking", True, 1),
        (OPEN, "shadow", True, 4),
        (OPEN, "blocking", True, 4),
        (None, "shadow", False, 4),
        (PASSING, "shadow", False, 4),
        (FAILING, "blocking", False, 4),
    ],
)
def test_the_exit_code_follows_the_table(result: GateResult | None, mode: str, complete: bool, code: int) -> None:
    report = a_report() if complete else a_report(status={("A", 0): "tool_error"})
    assert judge(report, result, mode=ReplayMode(mode)).code == code


def test_rows_show_direction_and_bound() -> None:
    rows = {row.name: row.bound for row in gate_rows(Gate(GatePolicy(min_dar=0.9, max_gap=0.05)).evaluate(a_report()))}
    assert rows == {
        "artifact_verification": "verified",
        "dar": "≥ 0.9",
        "gap": "≤ 0.05",
        "report_complete": "complete",
    }
    assert gate_rows(None) == ()
