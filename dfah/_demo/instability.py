"""How unstable an agent is, and what follows for one episode. Pure: every draw is a digest of its name.

Each disturbance draws a number of its own from (seed, case, replay, name). So an episode does not depend on the order
or the concurrency of the run, and raising one rate changes nothing but that rate's disturbances.
"""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import Attribute, asdict, evolve, field, fields, frozen

from dfah import ConfigurationError, ToolSpec, ValidationError
from dfah._demo.policies import Path, Step

Draw = Callable[[str], float]


def _number(minimum: float, maximum: float) -> Callable[[Any, Attribute[Any], Any], None]:
    def check(_: Any, attribute: Attribute[Any], value: Any) -> None:
        if type(value) is not float or not minimum <= value <= maximum:
            bound = f" to {maximum:g}" if math.isfinite(maximum) else ""
            raise ConfigurationError(f"unstable agent: {attribute.name} must be a number from {minimum:g}{bound}")

    return check


def _whole(_: Any, attribute: Attribute[Any], value: Any) -> None:
    if type(value) is not int:
        raise ConfigurationError(f"unstable agent: {attribute.name} must be an integer")


def _as_float(value: Any) -> Any:
    return float(value) if type(value) is int else value


def _rate(default: float = 0.0) -> Any:
    return field(default=default, converter=_as_float, validator=_number(0.0, 1.0))


@frozen(kw_only=True)
class Instability:
    """Rates are probabilities per episode, in [0, 1].

    affected_cases: share of the cases that are disturbed at all.
    latency_ms: mean of a uniform waiting time from half to one and a half of it.
    cost_usd: of each episode.
    """

    seed: int = field(default=7, validator=_whole)
    affected_cases: float = _rate(1.0)
    flip_rate: float = _rate()
    order_swap_rate: float = _rate()
    argument_jitter_rate: float = _rate()
    result_drift_rate: float = _rate()
    drop_rate: float = _rate()
    repeat_rate: float = _rate()
    failure_rate: float = _rate()
    tool_failure_rate: float = _rate()
    malformed_rate: float = _rate()
    refusal_rate: float = _rate()
    latency_ms: float = field(default=0.0, converter=_as_float, validator=_number(0.0, math.inf))
    cost_usd: float = field(default=0.0, converter=_as_float, validator=_number(0.0, math.inf))

    def with_parameters(self, parameters: Mapping[str, Any]) -> Instability:
        """A copy with some parameters changed.

        Raises: ConfigurationError naming an unknown parameter, or one that is out of range.
        """
        known = [attribute.name for attribute in fields(Instability)]
        for name in parameters:
            if name not in known:
                close = difflib.get_close_matches(str(name), known, 1)
                hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
                raise ConfigurationError(f"unstable agent: no parameter {name!r}; {hint}")
        return evolve(self, **parameters)

    def as_parameters(self) -> dict[str, Any]:
        """The parameters as JSON, for manifest and payload."""
        return asdict(self)


@frozen
class ScriptedStep:
    """A tool call of an episode. drift: number that changes the answer, or None. fails: the tool is down."""

    step: Step
    drift: int | None = None
    fails: bool = False


@frozen
class Script:
    """What the agent will do in one episode. ending: answer, malformed, refusal or failure."""

    steps: tuple[ScriptedStep, ...]
    label: str
    ending: str
    latency_ms: float


def draws(seed: int, case_id: str, replay_index: int | None = None) -> Draw:
    """Numbers in [0, 1) by name; without a replay index they are the same for all replays of the case."""
    prefix = f"{seed}\x1f{case_id}\x1f{'' if replay_index is None else replay_index}\x1f"

    def draw(name: str) -> float:
        return int.from_bytes(hashlib.sha256((prefix + name).encode()).digest()[:7], "big") / 2**56

    return draw


def script(
    instability: Instability,
    path: Path,
    labels: Sequence[str],
    specs: Mapping[str, ToolSpec],
    case_id: str,
    replay_index: int,
) -> Script:
    """The episode of one slot: the steady path, disturbed as the draws of this slot say."""
    draw = draws(instability.seed, case_id, replay_index)
    latency = instability.latency_ms * (0.5 + draw("latency"))
    if draws(instability.seed, case_id)("affected") >= instability.affected_cases:
        return Script(tuple(map(ScriptedStep, path.steps)), path.label, "answer", latency)

    def happens(rate: str) -> bool:
        return draw(rate) < float(getattr(instability, rate))

    steps = list(path.steps)
    for rate, disturb in DISTURBANCES:
        if steps and happens(rate):
            steps = disturb(steps, draw(rate + " where"), specs)
    scripted = [ScriptedStep(step) for step in steps]
    if scripted and happens("result_drift_rate"):
        _replace(scripted, draw("drift where"), drift=1 + int(draw("drift") * 1_000_000))
    if scripted and happens("tool_failure_rate"):
        _replace(scripted, draw("tool failure where"), fails=True)
    others = [label for label in labels if label != path.label]
    label = _pick(others, draw("flip to")) if happens("flip_rate") else path.label
    ending = next((end for rate, end in ENDINGS if happens(rate)), "answer")
    return Script(tuple(scripted), label, ending, latency)


def _pick(items: Sequence[Any], share: float) -> Any:
    return items[int(share * len(items))]


def _replace(steps: list[ScriptedStep], share: float, **change: Any) -> None:
    index = int(share * len(steps))
    steps[index] = evolve(steps[index], **change)


def drop(steps: list[Step], share: float, specs: Mapping[str, ToolSpec]) -> list[Step]:
    """Without one of its steps."""
    index = int(share * len(steps))
    return steps[:index] + steps[index + 1 :]


def repeat(steps: list[Step], share: float, specs: Mapping[str, ToolSpec]) -> list[Step]:
    """With one of its steps twice in a row."""
    index = int(share * len(steps))
    return [*steps[: index + 1], *steps[index:]]


def swap(steps: list[Step], share: float, specs: Mapping[str, ToolSpec]) -> list[Step]:
    """With two neighbours of different tools exchanged; unchanged when there are none."""
    places = [i for i in range(len(steps) - 1) if steps[i].tool != steps[i + 1].tool]
    if not places:
        return steps
    index = _pick(places, share)
    return [*steps[:index], steps[index + 1], steps[index], *steps[index + 2 :]]


def jitter(steps: list[Step], share: float, specs: Mapping[str, ToolSpec]) -> list[Step]:
    """With one argument of one step changed within its schema; unchanged when no argument can be."""
    variants = [(index, other) for index, step in enumerate(steps) for other in neighbours(step, specs[step.tool])]
    if not variants:
        return steps
    index, other = _pick(variants, share)
    return [*steps[:index], other, *steps[index + 1 :]]


DISTURBANCES: tuple[tuple[str, Callable[[list[Step], float, Mapping[str, ToolSpec]], list[Step]]], ...] = (
    ("drop_rate", drop),
    ("repeat_rate", repeat),
    ("order_swap_rate", swap),
    ("argument_jitter_rate", jitter),
)
ENDINGS = (("failure_rate", "failure"), ("refusal_rate", "refusal"), ("malformed_rate", "malformed"))


def neighbours(step: Step, spec: ToolSpec) -> list[Step]:
    """The step with one argument a little different, wherever the schema allows it."""
    changed = [
        Step(step.tool, {**step.arguments, name: other})
        for name, value in step.arguments.items()
        for other in _near(value)
    ]
    return [other for other in changed if _allowed(other, spec)]


def _near(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1]
    if isinstance(value, list):
        return [value[::-1]] if value != value[::-1] else []
    if isinstance(value, str):
        return [value[:-1] + str((int(value[-1]) + 1) % 10) if value[-1:].isdecimal() else value + " b"]
    return []


def _allowed(step: Step, spec: ToolSpec) -> bool:
    try:
        spec.validate_arguments(step.arguments)
    except ValidationError:
        return False
    return True
