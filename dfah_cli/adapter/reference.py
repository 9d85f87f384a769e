"""`pkg.module:name` or `pkg.module.name` -> the agent. Importing runs user code, so anything is expected of it."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import re
import sys
import traceback
from types import ModuleType
from typing import Any, cast

from dfah_cli.adapter.contract import Agent, agent_problem
from dfah_cli.errors import ConfigurationError
from dfah_cli.redaction import redact

_DOTTED = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_COLON = re.compile(rf"({_DOTTED}):({_DOTTED})")
_PLAIN = re.compile(rf"({_DOTTED})\.([^\W\d]\w*)")
MAX_TEXT = 300
PACKAGES = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load_agent(reference: str) -> Agent:
    """The agent a reference names; the current directory is importable.

    Raises: ConfigurationError, one line: malformed, module not found, import failed, no such name, or no agent.
    """
    module, found = _found(reference)
    problem = agent_problem(found)
    if problem:
        raise ConfigurationError(f"agent {reference}: the object {problem}{_suggestion(module, '')}")
    return cast(Agent, found)


def load_object(reference: str, where: str) -> Any:
    """Whatever a reference names; the current directory is importable.

    where: what the message begins with, such as the key the reference stands under.
    Raises: ConfigurationError, as `load_agent` does.
    """
    try:
        return _found(reference)[1]
    except ConfigurationError as problem:
        raise ConfigurationError(f"{where}: {str(problem).removeprefix('agent ')}") from problem


def _found(reference: str) -> tuple[ModuleType, Any]:
    """The module a reference leads to, and the object in it."""
    module_name, path = _split(reference)
    _make_importable(os.getcwd())
    module, rest = _import_longest(module_name, reference)
    found: Any = module
    for part in (*rest, *path.split(".")):
        found = _attribute(found, part, module, reference)
    return module, found


def _split(reference: object) -> tuple[str, str]:
    if isinstance(reference, str):
        match = _COLON.fullmatch(reference) or _PLAIN.fullmatch(reference)
        if match and not match[1].endswith(".py") and match[2] != "py":
            return match[1], match[2]
    shown = one_line(str(reference)) if isinstance(reference, str) else type(reference).__name__
    hint = ""
    if isinstance(reference, str) and (".py" in reference or "/" in reference):
        stem = re.sub(r"\.py(?=:|$)", "", reference).strip("./").replace("/", ".")
        hint = f"; a file is named as a module, perhaps {stem if ':' in stem else stem + ':NAME'}"
    raise ConfigurationError(f"agent {shown!r}: found no reference; expected pkg.module:name or pkg.module.name{hint}")


def _make_importable(directory: str) -> None:
    # A console script has its own directory on the path, where `python -m` would have the current one.
    if directory not in sys.path:
        sys.path.insert(0, directory)
    importlib.invalidate_caches()


def _import_longest(module_name: str, reference: str) -> tuple[ModuleType, tuple[str, ...]]:
    """The module, and what is left of a plain dotted path that goes on inside a module (`pkg.module.factory.agent`)."""
    parts = module_name.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        try:
            return importlib.import_module(name), tuple(parts[length:])
        except ModuleNotFoundError as problem:
            if not _is_part_of(problem.name, name):
                raise _import_failed(reference, name, problem) from problem
            if ":" in reference:
                break
        except BaseException as problem:  # SystemExit too: a broken adapter, not our end
            raise _import_failed(reference, name, problem) from problem
    raise ConfigurationError(
        f"agent {reference}: no module named {module_name!r} in the current directory or among the installed packages"
        f"{_close(module_name.split('.')[0], _top_level_names()) or '; check spelling, directory and environment'}"
    )


def _is_part_of(missing: str | None, module_name: str) -> bool:
    return missing is not None and (module_name == missing or module_name.startswith(missing + "."))


def _import_failed(reference: str, module_name: str, problem: BaseException) -> ConfigurationError:
    where = _user_place(problem)
    at = f" at {where}" if where else ""
    found = f"agent {reference}: importing {module_name} failed{at}: {type(problem).__name__}"
    text = one_line(str(problem.msg if isinstance(problem, SyntaxError) else problem))
    shown = f"{found}: {text}" if text else found
    if isinstance(problem, ModuleNotFoundError) and problem.name:
        return ConfigurationError(f"{shown}; install the package that provides {problem.name!r} in this environment")
    shared = shared_import_name() if "dfah" in text else ""
    return ConfigurationError(f"{shown}; {shared or 'correct the module so that `import` of it succeeds'}")


def _user_place(problem: BaseException) -> str:
    """file:line of the deepest frame that is the user's: no import machinery, and no installed package if avoidable."""
    if isinstance(problem, SyntaxError) and problem.filename:
        return f"{_short(problem.filename)}:{problem.lineno or 0}"
    frames = [f for f in traceback.extract_tb(problem.__traceback__) if "importlib" not in f.filename]
    frames = [f for f in frames if f.filename != __file__ and not f.filename.startswith("<frozen")]
    # Ours too, which need not be installed there.
    ours = tuple(os.path.join(PACKAGES, name, "") for name in ("dfah", "dfah_cli"))
    installed = (f"{os.sep}site-packages{os.sep}", os.path.dirname(os.__file__) + os.sep, *ours)
    own = [f for f in frames if not any(part in f.filename for part in installed)]
    chosen = (own or frames)[-1:]
    return f"{_short(chosen[0].filename)}:{chosen[0].lineno}" if chosen else ""


def _short(filename: str) -> str:
    relative = os.path.relpath(filename)
    return filename if relative.startswith("..") else relative


def _attribute(owner: Any, name: str, module: ModuleType, reference: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError:
        where = f"module {module.__name__}" if owner is module else f"the object before {name!r}"
        raise ConfigurationError(f"agent {reference}: {where} has no {name!r}{_suggestion(module, name)}") from None
    except BaseException as problem:  # a property or a module-level __getattr__ is user code
        raise _import_failed(reference, module.__name__, problem) from problem


def _suggestion(module: ModuleType, wanted: str) -> str:
    """Did-you-mean over the agents of the module."""
    made = vars(module)
    agents = sorted(name for name in dir(module) if not name.startswith("_") and _may_be_agent(made, name))
    close = _close(wanted, agents)
    if close or not agents:
        return close or f"; {module.__name__} has no agents at its top level"
    return f"; agents in {module.__name__}: {', '.join(agents)}"


def _may_be_agent(made: dict[str, Any], name: str) -> bool:
    # A name that is not there yet is made on demand by the module, which a suggestion must not set off.
    return name not in made or agent_problem(made[name]) is None


def _close(wanted: str, names: list[str]) -> str:
    close = difflib.get_close_matches(wanted, names, 1, 0.7)
    return f"; did you mean {close[0]!r}?" if close and close[0] != wanted else ""


def _top_level_names() -> list[str]:
    here = [entry.name for entry in os.scandir(".") if entry.name.endswith(".py") or entry.is_dir()]
    return [name.removesuffix(".py") for name in here if name.removesuffix(".py").isidentifier()] + ["dfah"]


def one_line(text: str) -> str:
    """Text of the user's in an error: redacted, on one line, printable, at most 300 characters."""
    joined = " ".join(redact(text).split())
    safe = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in joined)
    return safe if len(safe) <= MAX_TEXT else safe[:MAX_TEXT] + "…"


def shared_import_name() -> str:
    """What to do when two installed distributions own the import name `dfah`; empty when only one does."""
    from importlib.metadata import packages_distributions

    owners = sorted(set(packages_distributions().get("dfah", [])))
    if len(owners) < 2:
        return ""
    others = [name for name in owners if name != "dfah-cli"]
    return (
        f"{' and '.join(owners)} are both installed and overwrite each other's import name dfah; run "
        f"`pip uninstall {' '.join(others)}` and then `pip install --force-reinstall dfah-cli`"
    )
