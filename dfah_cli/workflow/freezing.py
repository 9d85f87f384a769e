"""A frozen request -> its agent, suite and plan; nothing is dispatched and nothing is written.

Apart from `workflow.run`, so that showing a plan does not load what runs one.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from attrs import frozen

from dfah_cli.adapter.contract import Agent, agent_problem
from dfah_cli.adapter.reference import load_agent, load_object, one_line
from dfah_cli.errors import ConfigurationError, DFAHError, ManifestMismatchError
from dfah_cli.planning.plan import PlannedRun, default_directory_name, make_plan
from dfah_cli.records.fields import kind_of
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.run_plan import RunPlan
from dfah_cli.records.suite import Suite
from dfah_cli.records.wire import same_value
from dfah_cli.store.places import RunUrl, place_of
from dfah_cli.workflow.request import DECLARED, RunRequest

R = TypeVar("R")


@frozen(kw_only=True)
class FrozenPlan:
    """What a request would run: nothing was dispatched and nothing was written.

    cost_ceiling_usd: None when no estimate was given. policy_sha256: None without a gate.
    """

    planned: PlannedRun
    manifest: Manifest
    suite: Suite
    run_dir: Path | RunUrl
    policy_sha256: str | None
    cost_ceiling_usd: float | None

    @property
    def plan(self) -> RunPlan:
        """The plan itself."""
        return self.planned.plan


def load(request: RunRequest, suite: Suite | None = None) -> tuple[Agent, Suite]:
    """The configured agent and the suite it is run on.

    suite: in place of the one that the request names.
    Raises: ConfigurationError for a reference that cannot be imported, parameters the agent does not take, or an agent
    that is bound to another suite; ManifestMismatchError for an expectation its manifest does not meet.
    """
    wanted = request.suite if suite is None else suite
    agent, suite = _declared(request, wanted) if request.adapter == DECLARED else _referred(request, wanted)
    manifest = asked(lambda: agent.manifest, f"{request.adapter}: manifest")
    _check_expected(manifest, request.expected, request.adapter)
    return agent, suite


def _declared(request: RunRequest, wanted: Suite | str | None) -> tuple[Agent, Suite]:
    """The agent that a declaration makes; by reference, because the integrations lie above."""
    if wanted is None:
        raise ConfigurationError("a declared adapter is bound to no suite; name one (suite=NAME)")
    suite = Suite.load(wanted)
    make = load_object(DECLARED, "adapter")
    return asked(lambda: make(request.agent, suite), "adapter"), suite


def _referred(request: RunRequest, wanted: Suite | str | None) -> tuple[Agent, Suite]:
    """The agent that a reference names, with its parameters, on the suite asked for or on its own."""
    agent = load_agent(request.adapter)
    if request.agent:
        agent = _with_parameters(agent, request.agent, request.adapter)
    bound = getattr(agent, "suite", None)
    if wanted is None:
        if not isinstance(bound, Suite):
            raise ConfigurationError(f"{request.adapter} is bound to no suite; name one (--suite NAME or suite=NAME)")
        return agent, bound
    suite = Suite.load(wanted)
    rebind: Any = getattr(agent, "for_suite", None)
    if isinstance(bound, Suite) and bound.suite_id != suite.suite_id and rebind is not None:
        agent = asked(lambda: rebind(suite), f"{request.adapter}: for_suite")
    return agent, suite


def _with_parameters(agent: Agent, parameters: dict[str, Any], reference: str) -> Agent:
    configure = getattr(agent, "with_parameters", None)
    if configure is None:
        raise ConfigurationError(
            f"agent: {reference} takes no parameters; give it a method with_parameters(mapping), or leave `agent` out"
        )
    configured = asked(lambda: configure(parameters), f"{reference}: with_parameters")
    problem = agent_problem(configured)
    if problem:
        raise ConfigurationError(f"{reference}: what with_parameters returned {problem}")
    return cast(Agent, configured)


def asked(question: Callable[[], R], where: str) -> R:
    """What the adapter's own code answers before the run.

    Raises: ConfigurationError in place of whatever it raises.
    """
    try:
        return question()
    except DFAHError:
        raise
    except Exception as problem:
        raise ConfigurationError(f"{where} failed: {type(problem).__name__}: {one_line(str(problem))}") from problem


def _check_expected(manifest: Manifest, expected: dict[str, Any], reference: str) -> None:
    for name, value in expected.items():
        found = getattr(manifest, name, None)
        if name == "request_parameters":
            _check_parameters(manifest.request_parameters, value, reference)
        elif not same_value(found, value):
            told = f"{found!r}" if isinstance(found, str | int | float) else kind_of(found)
            raise ManifestMismatchError(
                f"manifest.{name}: the manifest of {reference} has {told} and the configuration expects {value!r}"
            )


def _check_parameters(found: dict[str, Any], expected: dict[str, Any], reference: str) -> None:
    """Only what is expected has to be there; the adapter may send more."""
    for name, value in expected.items():
        if name not in found or not same_value(found[name], value):
            raise ManifestMismatchError(
                f"manifest.request_parameters.{name}: the manifest of {reference} has another value or none "
                f"and the configuration expects {value!r}"
            )


def plan_only(request: RunRequest) -> FrozenPlan:
    """The frozen plan of a request."""
    agent, suite = load(request)
    manifest = asked(lambda: agent.manifest, f"{request.adapter}: manifest")
    design = request.observing.found().design(request.design)
    planned = make_plan(suite, manifest, design)
    named = place_of(request.store) / default_directory_name(manifest, design)
    return FrozenPlan(
        planned=planned,
        manifest=manifest,
        suite=suite,
        run_dir=named if request.out is None else place_of(request.out),
        policy_sha256=None if request.policy is None else request.policy.sha256,
        cost_ceiling_usd=cost_ceiling_usd(request, planned.plan.episodes_planned),
    )


def cost_ceiling_usd(request: RunRequest, calls: int) -> float | None:
    """The most a run can cost, in US dollars; None when no estimate was given."""
    estimate = request.max_episode_cost_usd
    ceiling = None if estimate is None else estimate * calls
    if request.budget_usd is None:
        return ceiling
    return request.budget_usd if ceiling is None else min(ceiling, request.budget_usd)
