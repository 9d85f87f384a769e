"""The core brings none of the optional packages, and each of them that is missing is named with its install command."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from dfah_cli.errors import OptionalDependencyError

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"] if ROOT.exists() else {}
EXTRAS = {name: wanted for name, wanted in PROJECT["optional-dependencies"].items() if name != "dev"}
BY_HYDRA = {"joblib", "submitit"}
"""Launchers: Hydra itself finds them, or says that it does not know them."""
HEAVY = ("ray", "obstore", "pyarrow", "anthropic", "openai", "langgraph", "langchain", "mcp", "agents", "pydantic_ai")


def _adapter(module: str, extra: str) -> Callable[[Path], object]:
    def use(folder: Path) -> object:
        from dfah_cli.integrations.resources import optional

        return optional(module, extra)

    return use


def _storage(folder: Path) -> object:
    from dfah_cli.store.opening import open_store

    return open_store("s3://bucket/run")


def _table(folder: Path) -> object:
    from dfah_cli.workflow.tables import export_parquet

    return export_parquet(folder, folder / "x.parquet", "cases")


def _key(folder: Path) -> object:
    from dfah_cli.workflow.signing import make_keys

    return make_keys(folder / "key")


def _record(folder: Path) -> object:
    from dfah_cli.workflow.every_eval_ever import validate_every_eval_ever

    return validate_every_eval_ever(folder / "x.json")


def _log(folder: Path) -> object:
    from dfah_cli.loading.replays.inspect_log import read

    return read(folder / "x.eval")


def _cluster(folder: Path) -> object:
    from dfah_cli.engines.ray.package import require

    return require()


def _spans(folder: Path) -> object:
    from dfah_cli.workflow.telemetry import _exporter_class

    return _exporter_class()


USES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "anthropic": ("anthropic", _adapter("anthropic", "anthropic")),
    "eee": ("every_eval_ever", _record),
    "inspect": ("inspect_ai", _log),
    "langgraph": ("langgraph", _adapter("langgraph", "langgraph")),
    "mcp": ("mcp", _adapter("mcp", "mcp")),
    "openai": ("openai", _adapter("openai", "openai")),
    "openai-agents": ("agents", _adapter("agents", "openai-agents")),
    "otel": ("opentelemetry", _spans),
    "parquet": ("pyarrow", _table),
    "pydantic-ai": ("pydantic_ai", _adapter("pydantic_ai", "pydantic-ai")),
    "ray": ("ray", _cluster),
    "s3": ("obstore", _storage),
    "sign": ("cryptography", _key),
}
"""Extra -> the module that is not there, and what a user does that needs it."""


class Missing:
    """Finds no module of one name, whether it is installed or not."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == self._name:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_every_extra_has_a_use() -> None:
    assert USES.keys() | BY_HYDRA == EXTRAS.keys()


@pytest.mark.parametrize("extra", sorted(USES))
def test_a_missing_extra_is_one_line_with_the_install_command(
    extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, use = USES[extra]
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    found = importlib.util.find_spec
    monkeypatch.setattr(sys, "meta_path", [Missing(module), *sys.meta_path])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == module else found(name, *rest))
    with pytest.raises(OptionalDependencyError) as told:
        use(tmp_path)
    assert "\n" not in str(told.value)
    assert "pip install" in str(told.value)
    assert f"dfah-cli[{extra}]" in str(told.value)


def test_the_core_requires_no_optional_package() -> None:
    core = " ".join(PROJECT["dependencies"]).replace("-", "_")
    assert [name for name in HEAVY if name in core] == []
    assert "numpy" in core
    assert "orjson" in core


def test_a_run_imports_no_optional_package(tmp_path: Path) -> None:
    program = (
        "import sys; from dfah_cli.cli.main import main; "
        f"code = main(['run', '--agent', 'dfah.demo:toy_agent', '--out', {str(tmp_path / 'run')!r}]); "
        f"found = [name for name in {HEAVY!r} if name in sys.modules]; "
        "print(found, file=sys.stderr); sys.exit(code or bool(found))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
