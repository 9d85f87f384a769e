"""What an adapter is, and what it is given for one episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from attrs import field, frozen

from dfah_cli.adapter.meter import Meter
from dfah_cli.records.case import Case
from dfah_cli.records.episode import NO_USAGE, AgentResult, Spent, Usage
from dfah_cli.records.manifest import Manifest

if TYPE_CHECKING:
    from dfah_cli.adapter.session import ToolSession


@frozen
class RunContext:
    """One slot of the schedule, as the adapter sees it.

    case_id: the pseudonym where the case has one.
    seed: the seed of the schedule, not the one of the manifest.
    idempotency_key: the same for the same slot of the same manifest; for the provider's header, never for the payload.
    tools: None when the suite has no tools registered with the harness.
    """

    manifest_hash: str
    case_id: str
    replay_index: int
    seed: int | None
    idempotency_key: str
    metadata: Mapping[str, Any] = field(factory=dict)
    tools: ToolSession | None = None
    meter: Meter = field(factory=Meter, eq=False, repr=False)

    def note_spent(
        self, usage: Usage = NO_USAGE, *, cost_usd: float = 0.0, provider_response_id: str | None = None
    ) -> None:
        """Tells what the episode has used so far, all of it; recorded when it ends without a result.

        cost_usd: US dollars.
        Raises: ValidationError for a cost that is negative or not finite.
        """
        self.meter.note(Spent(usage=usage, cost_usd=cost_usd, provider_response_id=provider_response_id))


@runtime_checkable
class Agent(Protocol):
    """An adapter: a manifest and one call per case. A plain `arun` works as well as an async one."""

    @property
    def manifest(self) -> Manifest: ...

    async def arun(self, case: Case, context: RunContext) -> AgentResult: ...


def agent_problem(candidate: object) -> str | None:
    """What an object lacks to be an agent, in one clause; None when it is one. Never runs `arun`."""
    if isinstance(candidate, type):
        return f"is the class {candidate.__name__}; name an instance of it"
    if callable(candidate) and not hasattr(type(candidate), "arun"):
        return (
            "is a plain function or callable; decorate it with @agent(manifest=...), or with bring(...) where an SDK "
            "sends its requests (docs/bring-your-own-agent.md)"
        )
    if not callable(getattr(candidate, "arun", None)):
        return f"is of type {type(candidate).__name__} without a method arun(case, context)"
    try:
        manifest = candidate.manifest  # type: ignore[attr-defined]
    except AttributeError:
        return f"is of type {type(candidate).__name__} without a property manifest"
    except Exception as problem:  # noqa: BLE001 - the property is the user's code
        return f"has a property manifest that raises {type(problem).__name__}"
    if not isinstance(manifest, Manifest):
        return f"has a manifest of type {type(manifest).__name__}; build it with build_manifest(suite, ...)"
    return None
