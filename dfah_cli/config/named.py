"""The run configs a project has beside `dfah_run`: files at the top of its configs folder."""

from __future__ import annotations

import re
from pathlib import Path

from dfah_cli.config.groups import NOT_RUNS, PRIMARY
from dfah_cli.errors import ConfigurationError
from dfah_cli.loading import resources
from dfah_cli.loading.wording import did_you_mean, quoted

CONFIG_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")


def named_configs() -> dict[str, Path]:
    """The run configs of the current project by name; `dfah_run` itself is none, it names no suite."""
    return _runs_in(resources.folders("configs")[0].path)


def _runs_in(folder: Path) -> dict[str, Path]:
    found = {path.stem: path for path in sorted(folder.glob("*.yaml"))}
    return {name: path for name, path in found.items() if name not in NOT_RUNS and CONFIG_NAME.fullmatch(name)}


def check_config_name(name: str | None) -> str:
    """The name of an existing run config; `dfah_run` for None.

    Raises: ConfigurationError with the nearest name and all of them.
    """
    packaged = resources.folders("configs")[-1].path
    known = [PRIMARY, *sorted({*named_configs(), *_runs_in(packaged)})]
    if name is None or name in known:
        return name or PRIMARY
    raise ConfigurationError(
        f"no run config named {quoted(name)}{did_you_mean(name, known)} (available: {', '.join(known)}); "
        "it is a file configs/NAME.yaml"
    )
