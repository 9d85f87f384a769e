"""Overrides -> one composed, resolved, valid run config as a plain value."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import hydra
from hydra import compose, initialize_config_module
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from dfah_cli.config.groups import PRIMARY
from dfah_cli.config.sources import register
from dfah_cli.errors import ConfigurationError, DFAHError
from dfah_cli.loading import resources
from dfah_cli.loading.schema_files import properties
from dfah_cli.loading.validate import lines, problems
from dfah_cli.loading.wording import escaped, quoted

INTERPOLATION = re.compile(r"(?<!\\)\$\{([^}]*)\}?")
FULL_ERROR = "HYDRA_FULL_ERROR"
UNCHOSEN = re.compile(r"You must specify '([^']+)'")
# What Hydra keeps for its own command line. A composed run has no use for it, and it is half of the files Hydra reads.
UNREAD = tuple(f"hydra/{group}=[]" for group in ("help", "hydra_help", "output", "env", "job_logging", "hydra_logging"))


@contextmanager
def hydra_session() -> Iterator[None]:
    """Hydra, knowing our sources, until the end of the block."""
    GlobalHydra.instance().clear()
    register()
    # By a module, here one without configs: `initialize` would look for its caller in every module that is loaded.
    with initialize_config_module("dfah_cli.config", version_base="1.3"):
        yield


def compose_run(overrides: list[str], config_name: str = PRIMARY) -> dict[str, Any]:
    """The run config of one job as a plain value; needs a `hydra_session`.

    Raises: ConfigurationError, one line for each problem.
    """
    with one_line_errors():
        return plain_config(compose(config_name, overrides=[*overrides, *UNREAD]))


def plain_config(config: DictConfig) -> dict[str, Any]:
    """A composed config, resolved and valid, as a plain value.

    Raises: ConfigurationError, one line for each problem.
    """
    with one_line_errors():
        _check_interpolations(OmegaConf.to_container(config, resolve=False))
        value: Any = OmegaConf.to_container(config, resolve=True, throw_on_missing=True)
    refusals = [f"composed config: {problem.message} ({problem.dotted})" for problem in problems(value, "run")]
    if refusals:
        raise ConfigurationError(lines(refusals))
    assert isinstance(value, dict)
    return value


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Turns what Hydra and OmegaConf raise in the block into one line of our own."""
    try:
        yield
    except DFAHError:
        raise
    except (HydraException, OmegaConfBaseException, ValueError, TypeError) as error:
        raise _own(error) or ConfigurationError(_one_line(error)) from error
    except RecursionError:
        # Hydra follows `defaults` without looking where it was before.
        raise ConfigurationError("composing: a defaults list leads back to itself; remove that entry") from None


def _own(error: BaseException) -> DFAHError | None:
    """Our own refusal inside an error of Hydra's; it was raised while Hydra asked us for a file."""
    inner: BaseException | None = error
    while inner is not None and not isinstance(inner, DFAHError):
        inner = inner.__cause__ or inner.__context__
    return inner


def _one_line(error: Exception) -> str:
    said = str(error)
    unchosen = UNCHOSEN.search(said)
    if unchosen is not None:
        group = unchosen[1]
        kind = "suites" if group == "suite" else f"configs/{group}"
        return f"no {group} is chosen; write {group}=NAME (available: {', '.join(resources.available(kind))})"
    first = next((line.strip() for line in said.splitlines() if line.strip()), type(error).__name__)
    key = getattr(error, "full_key", None)
    return f"composing: {escaped(first)}{f' ({escaped(str(key))})' if key and str(key) not in first else ''}"


def _check_interpolations(value: Any) -> None:
    """Refuses an identity key that depends on the machine, the time or an operational key."""
    refusals = [
        f"{key}: {reason}"
        for key in identity_keys()
        for text in _strings(value.get(key))
        if (reason := _machine_dependence(text)) is not None
    ]
    if refusals:
        raise ConfigurationError(lines(refusals))


def identity_keys() -> list[str]:
    """The top-level keys of a run config that hold identity."""
    return [name for name, key in properties("run").items() if "identity" in _classes(key)]


def _classes(key: dict[str, Any]) -> set[str]:
    inner = key.get("properties", {}).values()
    return {key["x-dfah-class"]} if "x-dfah-class" in key else {found for one in inner for found in _classes(one)}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _strings(item)


def _machine_dependence(text: str) -> str | None:
    for inside in INTERPOLATION.findall(text):
        if ":" in inside or "{" in inside:
            shown = quoted("${" + inside + "}")
            return f"{shown} may differ between machines or runs, and this key is identity; write the value"
        if inside.strip(" .").partition(".")[0] not in identity_keys():
            return f"{quoted('${' + inside + '}')} is no identity key, and this key is one; write the value"
    return None


def run_hydra(argv: list[str], config_name: str, task: Callable[[DictConfig], Any]) -> None:
    """Hydra's own entry point on our configs, with errors in one line of our own.

    Hydra reads the command line and the environment itself, so both are lent to it for the call.
    """
    register()
    before, flag = sys.argv, os.environ.get(FULL_ERROR)
    sys.argv = ["dfah-run", *argv]
    # Without it Hydra prints the error itself and exits; with it the exception reaches us.
    os.environ[FULL_ERROR] = "1"
    try:
        with one_line_errors():
            hydra.main(version_base="1.3", config_path=None, config_name=config_name)(task)()
    except SystemExit as exit_:
        if exit_.code not in (None, 0):
            raise ConfigurationError(f"hydra: {escaped(' '.join(argv))}: refused") from None
    finally:
        sys.argv = before
        if flag is None:
            del os.environ[FULL_ERROR]
        else:
            os.environ[FULL_ERROR] = flag
