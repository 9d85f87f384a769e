"""Inspect logs (`.eval`) with epochs, read by the optional package inspect_ai."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dfah_cli.errors import ConfigurationError, OptionalDependencyError, install_command
from dfah_cli.loading.replays.recorded import RecordedReplay, Recording, label, shown, value_hash
from dfah_cli.metrics.backends import served_by
from dfah_cli.metrics.paths import StepLike

INSTALL = f"reading .eval logs needs the package inspect_ai; run: {install_command('inspect')}"
NOTES = ("the decision is the answer a single scorer saw, else the text of the completion, in lower case",)


def read(path: Path) -> Recording:
    """Every sample of every epoch; the replay index is the epoch − 1.

    Raises: OptionalDependencyError without the package; ConfigurationError when the log cannot be read.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise OptionalDependencyError(INSTALL) from None
    try:
        log = read_eval_log(str(path))
    except Exception as error:  # noqa: BLE001 - whatever a foreign reader raises is one refusal here
        raise ConfigurationError(f"{shown(path)}: inspect_ai cannot read it ({type(error).__name__})") from None
    samples = log.samples or []
    replays = tuple(_replay(log.eval, sample, f"{shown(path)} sample {at}") for at, sample in enumerate(samples))
    notes = NOTES if log.status == "success" else (*NOTES, f"the status of the log is {log.status}")
    return Recording(source=str(path), format="inspect", replays=replays, notes=notes)


def _replay(header: Any, sample: Any, where: str) -> RecordedReplay:
    provider, _, _ = header.model.partition("/")
    failed = sample.error is not None
    return RecordedReplay(
        configuration_id=header.model,
        agent=(header.model, str(header.task_version), _commit(header)),
        provider=provider,
        model=header.model,
        task=header.task,
        case_id=str(sample.id),
        replay_index=sample.epoch - 1,
        decision=None if failed else label(_answer(sample)),
        steps=_steps(sample.messages, where),
        status="provider_error" if failed else "valid",
        backend=served_by({"served_model": getattr(sample.output, "model", None)}),
        latency_us=round((getattr(sample, "total_time", None) or 0) * 1_000_000),
        where=where,
    )


def _answer(sample: Any) -> str | None:
    answers = [score.answer for score in (sample.scores or {}).values() if score.answer is not None]
    if len(answers) == 1:
        return str(answers[0])
    return str(sample.output.completion) if sample.output.choices else None


def _steps(messages: Any, where: str) -> tuple[StepLike, ...]:
    results = {m.tool_call_id: m for m in messages if m.role == "tool"}
    calls = [call for m in messages if m.role == "assistant" for call in (m.tool_calls or [])]
    return tuple(_step(call, results.get(call.id), where) for call in calls)


def _step(call: Any, result: Any, where: str) -> StepLike:
    arguments = value_hash(call.arguments, where)
    if result is None:
        return call.function, arguments, None, "unavailable", "requested"
    text = result.text
    state = "observed_nonempty" if text else "observed_empty"
    return call.function, arguments, value_hash(text, where), state, "error" if result.error else "executed"


def _commit(header: Any) -> str | None:
    return header.revision.commit if header.revision is not None else None
