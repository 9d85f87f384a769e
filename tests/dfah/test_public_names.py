from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import dfah
from dfah._names import HOME

# The names of the published contract, and our one addition.
CONTRACT = (
    "Agent",
    "AgentContractError",
    "AgentResult",
    "ArtifactError",
    "BudgetExceededError",
    "CallableAgent",
    "Case",
    "CaseExplanation",
    "CaseReport",
    "ChannelState",
    "ConfigurationError",
    "ConformanceReport",
    "ConformanceStatus",
    "DFAHError",
    "Decision",
    "DispatchState",
    "Eligibility",
    "EligibilityError",
    "EligibilityReasonCount",
    "Episode",
    "EpisodeStatus",
    "EveryEvalEverExportResult",
    "Gate",
    "GatePolicy",
    "GateRecord",
    "GateResult",
    "GateViolationError",
    "Manifest",
    "ManifestMismatchError",
    "ParseProvenance",
    "PathVariationKind",
    "Replay",
    "ReplayMode",
    "Report",
    "RunContext",
    "Suite",
    "SuiteVersionMismatchError",
    "TARReport",
    "TaskGatePolicy",
    "ToolCall",
    "ToolExecutionError",
    "ToolExecutionState",
    "ToolRegistry",
    "ToolSession",
    "ToolSpec",
    "Trajectory",
    "Usage",
    "WireRequest",
    "__version__",
    "agent",
    "build_manifest",
    "export_every_eval_ever",
    "validate_every_eval_ever",
)
SLOW = ("hydra", "structlog", "jsonschema", "rich", "numpy")


def loaded_after(code: str) -> set[str]:
    shown = f"{code}\nimport sys\nprint(*[name for name in {SLOW!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_all_is_the_contract_and_the_validation_error() -> None:
    assert sorted(dfah.__all__) == sorted([*CONTRACT, "ValidationError"])
    assert len(CONTRACT) == 53


@pytest.mark.parametrize("name", sorted(HOME))
def test_every_public_name_is_the_object_of_its_home(name: str) -> None:
    value = getattr(dfah, name)
    assert value is getattr(importlib.import_module(HOME[name]), name)
    # Rewriting it would break typing.get_type_hints.
    assert getattr(value, "__module__", HOME[name]).startswith("dfah")


def test_type_checkers_see_the_same_names_from_the_same_places() -> None:
    tree = ast.parse(Path(dfah.__file__).read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert {**seen, "__version__": "dfah_cli.version"} == HOME


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="NoSuchName"):
        _ = dfah.NoSuchName
    with pytest.raises(ImportError):
        exec("from dfah import NoSuchName")


def test_star_import_and_dir_give_every_name() -> None:
    space: dict[str, object] = {}
    exec("from dfah import *", space)
    assert set(dfah.__all__) <= set(space)
    assert set(dfah.__all__) <= set(dir(dfah))


@pytest.mark.parametrize(
    "code",
    [
        "import dfah",
        "from dfah import AgentResult, Case, Suite, ToolRegistry, WireRequest, agent, build_manifest",
    ],
)
def test_importing_the_contract_loads_nothing_slow(code: str) -> None:
    assert loaded_after(code) == set()


def test_the_validator_of_the_exchange_format_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(dfah.DFAHError, match=r"dfah-cli\[eee\]"):
        dfah.validate_every_eval_ever("record.json")


@pytest.mark.parametrize(
    ("module", "names"),
    [
        ("exceptions", ["EpisodeConflictError", "IncompleteEpisodeError", "OptionalDependencyError", "DFAHError"]),
        ("testing", ["check_agent", "ConformanceReport", "ConformanceCheck", "ConformanceStatus"]),
        ("parse", ["parse_decision"]),
        (
            "metrics",
            ["dar", "tar", "delta_dt", "modal_agreement", "evaluate_group", "execution_summary", "task_weighted"],
        ),
        ("report", ["render_html", "render_markdown", "format_metric"]),
        ("store", ["FileStore", "RunPlan"]),
        ("suite", ["list_suites", "Suite"]),
        ("demo", ["toy_agent", "toy_suite", "make_toy_agent", "toy_agent_calls", "toy_tool_calls"]),
    ],
)
def test_the_facade_modules_offer_their_names(module: str, names: list[str]) -> None:
    loaded = importlib.import_module(f"dfah.{module}")
    assert [name for name in names if not hasattr(loaded, name)] == []


def test_the_parser_takes_labels_in_any_spelling() -> None:
    from dfah.parse import parse_decision

    decision, how = parse_decision("Because.\nDECISION: escalate", ("ESCALATE", "Dismiss"))
    assert decision is not None
    assert (decision.label, how.accepted) == ("escalate", True)
    assert parse_decision("escalate", ("ESCALATE", "Dismiss"))[0] is None


def test_every_packaged_suite_is_listed() -> None:
    from dfah.suite import list_suites

    assert {"toy-risk", "compliance-triage", "dataops-exceptions"} <= {suite.suite_id for suite in list_suites()}
