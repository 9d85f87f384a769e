"""The package Ray, which need not be there."""

from __future__ import annotations

import importlib.util
import logging
import os
from importlib import import_module
from typing import Any

from dfah_cli.errors import OptionalDependencyError, install_command

INSTALL = f"engine ray needs the package ray; run: {install_command('ray')}"


def require() -> None:
    """Nothing, when the package is installed.

    Raises: OptionalDependencyError with the exact install command.
    """
    if importlib.util.find_spec("ray") is None:
        raise OptionalDependencyError(INSTALL)


def silence() -> None:
    """Ray prints nothing more of workers that die, on a terminal that shows how the run goes; the run tells of it."""
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    printing = import_module("ray._private.worker")
    if hasattr(printing, "print_to_stdstream"):
        setattr(printing, "print_to_stdstream", lambda *_, **__: None)  # noqa: B010 - there is no option for it


def ray() -> Any:
    """The module."""
    # No usage telemetry: before the import, which reads it.
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    # Without its head, Ray would end this process after a minute with the exit code of a failed gate.
    os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "86400")
    return import_module("ray")
