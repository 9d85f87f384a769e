"""The one seam between somebody else's agent and the harness.

The agent gives a text; everything else of an `AgentResult` is taken from what was observed: the wire echo from the
requests its SDK really sent, the trajectory from the tool session, usage, attempts and refusal from the answers.

The echo is that of the first request, because it is the same for every replay of a case; later ones carry what the
provider said before, which is what is being measured. Every later request is held to the same model and parameters.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from attrs import field, frozen

from dfah_cli.adapter.contract import RunContext
from dfah_cli.adapter.functions import run
from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.adapter.session import ToolSession
from dfah_cli.adapter.tool_request import Unreadable
from dfah_cli.errors import AgentContractError, ToolExecutionError, ValidationError
from dfah_cli.integrations.wire.exchange import Exchange, observed
from dfah_cli.integrations.wire.pace import Pace
from dfah_cli.integrations.wire.reading import offered_tools
from dfah_cli.records import fields
from dfah_cli.records.case import Case
from dfah_cli.records.enums import ToolExecutionState
from dfah_cli.records.episode import ASKED_AGAIN, UNMETERED, AgentResult, Usage
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite
from dfah_cli.records.trajectory import Trajectory
from dfah_cli.records.wire import WireRequest

Answer = Callable[[Case, RunContext], "Awaitable[str | Reply] | str | Reply"]
SAMPLING = ("temperature", "top_p", "seed")
PRICE = fields.real(0.0, 1_000_000.0)


class TurnLimitError(Exception):
    """The provider asked for tools in every answer the declaration allows."""

    def __init__(self, turns: int) -> None:
        super().__init__(f"no final answer within {turns} turns; raise adapter.max_turns if the agent needs more")


@frozen(kw_only=True)
class Prices:
    """US dollars for a million tokens. cached_input: None when cached tokens cost what others do."""

    input: float = field(default=0.0, converter=fields.to_float, validator=PRICE)
    output: float = field(default=0.0, converter=fields.to_float, validator=PRICE)
    cached_input: float | None = field(default=None, converter=fields.to_float, validator=fields.optional(PRICE))

    def cost_usd(self, usage: Usage) -> float:
        """What that many tokens cost."""
        cached = self.input if self.cached_input is None else self.cached_input
        fresh = usage.input_tokens - usage.cached_input_tokens
        total = fresh * self.input + usage.cached_input_tokens * cached + usage.output_tokens * self.output
        return total / 1_000_000


@frozen(kw_only=True)
class Reply:
    """The answer of an agent that is no SDK of this process, so it tells itself what it did.

    payload: the request it was given, or the one it sent to its provider; held to the contract like any other.
    trajectory: None when its tools are those of the session. cost_usd: None to compute it from usage and prices.
    """

    text: str
    payload: dict[str, Any]
    usage: Usage = field(factory=Usage)
    cost_usd: float | None = None
    response_id: str | None = None
    refused: bool = False
    trajectory: Trajectory | None = None


@frozen(kw_only=True)
class Contract:
    """What the requests of an agent are held to.

    parameter_paths: where a declared parameter lies in the payload when it is not at the top.
    internal_tools: tools a framework offers for its own use, such as one that takes the final answer.
    """

    manifest: Manifest
    tool_names: frozenset[str]
    parameter_paths: Mapping[str, Sequence[str | int] | str] = field(factory=dict)
    internal_tools: frozenset[str] = frozenset()

    def echo(self, bodies: Sequence[dict[str, Any]]) -> WireRequest:
        """The echo of an episode's requests.

        Raises: AgentContractError naming what a request does not keep; never a value but a model's or tool's name.
        """
        if not bodies:
            raise AgentContractError(
                "no request was seen in this episode; give the agent's SDK client to the adapter, so that it is watched"
            )
        echoes = [self._echo(body, number) for number, body in enumerate(bodies, 1)]
        return echoes[0]

    def _echo(self, body: dict[str, Any], number: int) -> WireRequest:
        manifest, where = self.manifest, f"request {number} of the episode"
        if body.get("model") != manifest.model:
            found = body.get("model")
            told = repr(found) if type(found) is str and len(found) < 200 else "no model"
            raise AgentContractError(f"{where} asks for {told}; the manifest declares {manifest.model!r}")
        declared = manifest.request_parameters
        silent = [name for name in SAMPLING if body.get(name) is not None and name not in declared]
        if silent:
            raise AgentContractError(f"{where} sends {', '.join(silent)}, which the manifest does not declare")
        unknown = sorted(set(offered_tools(body)) - self.tool_names - self.internal_tools)
        if unknown:
            raise AgentContractError(f"{where} offers tools the suite does not declare: {', '.join(unknown)}")
        try:
            return WireRequest.from_payload(
                provider=manifest.provider,
                model=manifest.model,
                endpoint=manifest.endpoint,
                payload=body,
                parameters=declared,
                parameter_paths=self.parameter_paths,
                adapter=manifest.adapter,
                adapter_version=manifest.adapter_version,
            )
        except ValidationError as problem:
            raise AgentContractError(f"{where}: {problem}") from None


class ObservedAgent:
    """An agent whose requests are observed; `answer` runs it on one case and gives its text."""

    def __init__(
        self,
        answer: Answer,
        *,
        contract: Contract,
        suite: Suite,
        tools: ToolRegistry | None,
        prices: Prices | None = None,
        pace: Pace | None = None,
        prepare: Callable[[], Awaitable[None]] | None = None,
        ready: Sequence[Callable[[], object]] = (),
        close: Sequence[Callable[[], Awaitable[None]]] = (),
    ) -> None:
        self._answer = answer
        self._contract = contract
        self._prices = prices or Prices()
        self.pace = pace or Pace()
        self._prepare = prepare
        self._ready, self._close = tuple(ready), tuple(close)
        self.suite = suite
        self.tools = tools

    @property
    def manifest(self) -> Manifest:
        """The pinned request contract."""
        return self._contract.manifest

    async def arun(self, case: Case, context: RunContext) -> AgentResult:
        """One episode.

        Raises: what the agent raises, unless the provider refused or a tool failed: both are results.
        """
        if self._prepare is not None:
            await self._prepare()

        def told(exchange: Exchange) -> None:
            usage = usage_of(exchange)
            context.note_spent(usage, cost_usd=self._prices.cost_usd(usage))

        exchange = Exchange(session=context.tools, pace=self.pace, meter=context.meter, changed=told)
        with observed(exchange):
            try:
                text = await run(self._answer, case, context)
            except Exception:
                await _reject_lost_calls(exchange, self._contract.internal_tools)
                if not exchange.refused and not _tool_failed(context.tools):
                    raise
                text = ""
            else:
                await _reject_lost_calls(exchange, self._contract.internal_tools)
        return self._replied(text, exchange) if isinstance(text, Reply) else self._result(text, exchange)

    def check_ready(self) -> None:
        """Nothing, when all that an episode needs from the environment is there.

        Raises: ConfigurationError naming the variable that is not set.
        """
        for ready in self._ready:
            ready()

    async def aclose(self) -> None:
        """Closes what the agent holds open on the running loop."""
        for close in self._close:
            await close()

    def _result(self, text: object, exchange: Exchange) -> AgentResult:
        if not isinstance(text, str):
            raise AgentContractError(f"the agent answered with {type(text).__name__}; expected its text")
        usage = usage_of(exchange)
        return AgentResult(
            output_text=str(text),
            trajectory=_observed_path(exchange),
            wire_request=self._contract.echo(exchange.bodies),
            usage=usage,
            cost_usd=self._prices.cost_usd(usage),
            provider_response_id=exchange.answers[-1].response_id if exchange.answers else None,
            refused=exchange.refused,
        )

    def _replied(self, reply: Reply, exchange: Exchange) -> AgentResult:
        return AgentResult(
            output_text=reply.text,
            trajectory=reply.trajectory or _observed_path(exchange),
            wire_request=self._contract.echo([reply.payload]),
            usage=reply.usage,
            cost_usd=self._prices.cost_usd(reply.usage) if reply.cost_usd is None else reply.cost_usd,
            provider_response_id=reply.response_id,
            refused=reply.refused,
        )


def _observed_path(exchange: Exchange) -> Trajectory:
    return Trajectory.of(()) if exchange.session is None else exchange.session.trajectory()


def usage_of(exchange: Exchange) -> Usage:
    """Tokens of all answers together; attempts, failures and what the provider says of itself beside them."""
    answers = exchange.answers
    told: dict[str, Any] = {"requests": len(answers), "transport_attempts": len(exchange.sent)}
    for name, count in ((UNMETERED, exchange.unmetered), (ASKED_AGAIN, exchange.asked_again)):
        if count:
            told[name] = count
    if exchange.failures:
        told["failed_statuses"] = sorted(exchange.failures)
    for name, values in (
        ("served_models", {answer.model for answer in answers}),
        ("fingerprints", {answer.fingerprint for answer in answers}),
    ):
        known = sorted(value for value in values if isinstance(value, str))
        if known:
            told[name] = known
    return Usage(
        input_tokens=sum(answer.input_tokens for answer in answers),
        output_tokens=sum(answer.output_tokens for answer in answers),
        cached_input_tokens=sum(answer.cached_tokens for answer in answers),
        reasoning_tokens=sum(answer.reasoning_tokens for answer in answers),
        provider_usage=told,
    )


def _tool_failed(session: ToolSession | None) -> bool:
    calls = () if session is None else session.calls
    return any(call.execution_state is not ToolExecutionState.EXECUTED for call in calls)


# Stands for arguments that a framework never handed on; no JSON, so the call is recorded as rejected.
LOST = Unreadable(
    "the provider asked for it and no recorded function was called; give the agent what recorded(...) returns"
)


async def _reject_lost_calls(exchange: Exchange, internal: frozenset[str]) -> None:
    """Records every call the provider asked for and no tool saw: a requested call is never dropped."""
    if exchange.session is None:
        return
    asked = Counter(name for answer in exchange.answers for name in answer.calls if name not in internal)
    asked.subtract(call.name for call in exchange.session.calls)
    for name in sorted(asked.elements()):
        with contextlib.suppress(ToolExecutionError):
            await exchange.session.call(name, arguments=LOST)
