"""The formats of recorded replays: a literal table, and how a file is told apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import orjson

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading.replays import bench_run, inspect_log, jaeger, jsonl, otlp, tau_bench
from dfah_cli.loading.replays.recorded import Recording, read_document, shown
from dfah_cli.loading.wording import did_you_mean

FORMATS: Mapping[str, Callable[[Path], Recording]] = MappingProxyType(
    {
        "jsonl": jsonl.read,
        "dfah-bench": bench_run.read,
        "inspect": inspect_log.read,
        "tau-bench": tau_bench.read,
        "otlp": otlp.read,
        "jaeger": jaeger.read,
    }
)
AUTO = "auto"
EXPECTED = f"give --format, one of {', '.join(FORMATS)}"

DOCUMENTS: tuple[tuple[str, Callable[[Any], bool]], ...] = (
    ("otlp", otlp.recognised),
    ("jaeger", jaeger.recognised),
    ("tau-bench", tau_bench.recognised),
)


def read(path: Path, name: str = AUTO) -> Recording:
    """All replays recorded in a file or directory.

    Raises: ConfigurationError when it is missing or of no known format; ValidationError, ArtifactError for
    what is malformed inside. Nothing is ever imported in part.
    """
    if not path.exists():
        raise ConfigurationError(f"{shown(path)}: no such file or directory")
    if not path.is_file() and not path.is_dir():
        raise ConfigurationError(
            f"{shown(path)}: is no regular file, and may be read more than once; save it as a file"
        )
    chosen = detect(path) if name == AUTO else name
    if chosen not in FORMATS:
        raise ConfigurationError(f"no format {chosen!r}{did_you_mean(chosen, FORMATS)}; {EXPECTED}")
    return FORMATS[chosen](path)


def detect(path: Path) -> str:
    """The name of the format. Raises: ConfigurationError when nothing fits."""
    if path.is_dir():
        if bench_run.recognised(path):
            return "dfah-bench"
        raise ConfigurationError(f"{shown(path)}: no run directory of dfah-bench; for your own runs: dfah analyze")
    if path.suffix == ".eval":
        return "inspect"
    document = _first_document(read_document(path))
    for name, recognised in DOCUMENTS:
        if recognised(document):
            return name
    if isinstance(document, dict) and {"configuration_id", "case_id"} & set(document):
        return "jsonl"
    raise ConfigurationError(f"{shown(path)}: of no format that is recognised; {EXPECTED}")


def _first_document(payload: bytes) -> Any:
    """The value of the first line that has text, or of the whole file when a line alone is no JSON."""
    first = next((line for line in payload.split(b"\n") if line.strip()), b"")
    for text in (first, payload):
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
    return None
