"""The log: what adapters raised, redacted and escaped, on standard error and, on request, in a file.

Error text never enters artifacts; this is the only place where a user can read it. structlog is imported when the
first line is written, so a run without failures never pays for it.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from dfah_cli.cli.screen import Screen, quietly
from dfah_cli.errors import ConfigurationError
from dfah_cli.execution.events import EpisodeFinished

SHOWN = 5
EpisodeLog = Callable[[EpisodeFinished], None]


@contextmanager
def episode_log(screen: Screen, debug_log: str | None, *, quiet: bool) -> Iterator[EpisodeLog]:
    """A log of failed episodes: the first few on standard error, all of them in `debug_log`.

    quiet: keep standard error to a live bar until the block ends. Raises: ConfigurationError for a place that cannot
    be written.
    """
    file = None if debug_log is None else JsonLog(_opened(debug_log))
    held: list[str] = []
    failed = 0

    def log(event: EpisodeFinished) -> None:
        nonlocal failed
        if file is not None:
            quietly(lambda: file.episode(event))
        if event.status == "valid":
            return
        failed += 1
        if failed <= SHOWN:
            line = told(event)
            held.append(line) if quiet else screen.note(line)

    try:
        yield log
    finally:
        for line in held:
            screen.note(line)
        if failed > SHOWN:
            screen.note(f"… and {failed - SHOWN} more failed episodes; --debug-log FILE keeps them all")
        if file is not None:
            file.close()


def told(event: EpisodeFinished) -> str:
    """One failed episode in one line."""
    from dfah_cli.redaction import redact
    from dfah_cli.render.text import escape

    text = f": {escape(redact(event.error_text))[:300]}" if event.error_text else ""
    kind = f" ({event.error_kind})" if event.error_kind else ""
    return f"{escape(event.case_id)} replay {event.replay_index}: {event.status}{kind}{text}"


def _opened(path: str) -> IO[str]:
    try:
        place = Path(path)
        if any((parent / "plan.json").is_file() for parent in place.resolve().parents):
            raise ConfigurationError(f"--debug-log: {path} lies inside a run directory, which holds evidence only")
        return os.fdopen(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "a", encoding="utf-8")
    except OSError as problem:
        raise ConfigurationError(f"--debug-log: {path} cannot be written ({problem.strerror})") from None


class JsonLog:
    """JSON lines through structlog over the standard library, appended to a file of the user's."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file
        self._logger: Any = None

    def episode(self, event: EpisodeFinished) -> None:
        """One finished episode."""
        from dfah_cli.redaction import redact

        self._lazily().log(
            logging.INFO if event.status == "valid" else logging.WARNING,
            "episode",
            case_id=event.case_id,
            replay_index=event.replay_index,
            status=event.status,
            error_kind=event.error_kind,
            error_text=None if event.error_text is None else redact(event.error_text),
            cost_nusd=event.cost_nusd,
            latency_us=event.latency_us,
            tool_calls=event.tool_calls,
        )

    def close(self) -> None:
        """The file is closed."""
        self._file.close()

    def _lazily(self) -> Any:
        if self._logger is None:
            import structlog

            standard = logging.Logger("dfah", logging.DEBUG)
            standard.addHandler(logging.StreamHandler(self._file))
            self._logger = structlog.wrap_logger(
                standard,
                processors=[
                    structlog.processors.add_log_level,
                    structlog.processors.TimeStamper(fmt="iso", utc=True),
                    structlog.processors.JSONRenderer(ensure_ascii=True),
                ],
                wrapper_class=structlog.stdlib.BoundLogger,
            )
        return self._logger
