from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dfah_cli.adapter import reference
from dfah_cli.adapter.reference import load_agent
from dfah_cli.errors import ConfigurationError

AGENT = """
from dfah import Case, Suite, agent, build_manifest
suite = Suite(suite_id="s", suite_version="1.0.0", decisions=("a", "b"), cases=(Case(case_id="1", input={}),))
manifest = build_manifest(suite, provider="p", model="m", adapter="a", request_parameters={},
                          implementation_hash="0" * 64)
@agent(manifest=manifest, suite=suite)
async def my_agent(case, context): ...
def plain(case, context): ...
class Holder: pass
holder = Holder()
holder.inner = my_agent
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current directory; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def error_of(wanted: object) -> str:
    with pytest.raises(ConfigurationError) as raised:
        load_agent(wanted)  # type: ignore[arg-type]
    text = str(raised.value)
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    "wanted", ["agents1:my_agent", "agents1.my_agent", "agents1:holder.inner", "agents1.holder.inner"]
)
def test_both_spellings_find_an_agent_in_the_current_directory(place: Path, wanted: str) -> None:
    (place / "agents1.py").write_text(AGENT)
    assert type(load_agent(wanted)).__name__ == "CallableAgent"


def test_a_module_in_a_package_is_found(place: Path) -> None:
    (place / "packaged1").mkdir()
    (place / "packaged1" / "deep.py").write_text(AGENT)
    assert load_agent("packaged1.deep.my_agent") is load_agent("packaged1.deep:my_agent")


@pytest.mark.parametrize("wanted", ["", "agent", "a b:c", ":x", "x:", "a..b", "1a:b", "a:b:c", "a-b:c", 7, None])
def test_a_malformed_reference_shows_the_form(place: Path, wanted: object) -> None:
    assert "expected pkg.module:name" in error_of(wanted)


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [("my.py:agent", "my:agent"), ("./sub/my.py", "sub.my:NAME"), ("sub/my.py:agent", "sub.my:agent")],
)
def test_a_file_name_is_answered_with_the_module(place: Path, wanted: str, hint: str) -> None:
    assert f"perhaps {hint}" in error_of(wanted)


def test_a_module_that_is_not_there_has_a_suggestion(place: Path) -> None:
    (place / "agents2.py").write_text(AGENT)
    text = error_of("agentz2:my_agent")
    assert "no module named 'agentz2'" in text
    assert "did you mean 'agents2'?" in text


@pytest.mark.parametrize(
    ("name", "code", "kind"),
    [
        ("zero3", "def f():\n    return 1 / 0\nf()\n", "at zero3.py:2: ZeroDivisionError: division by zero"),
        ("exit3", "import sys\nsys.exit(3)\n", "at exit3.py:2: SystemExit: 3"),
        ("stop3", "raise KeyboardInterrupt\n", "at stop3.py:1: KeyboardInterrupt"),
        ("syntax3", "x = 1\ndef f(:\n", "at syntax3.py:2: SyntaxError"),
        ("lines3", "raise ValueError('a\\nb\\x1b[0m')\n", r"at lines3.py:1: ValueError: a b\x1b[0m"),
        ("inside3", "import json\njson.loads('{')\n", "at inside3.py:2: JSONDecodeError"),
    ],
)
def test_a_failing_import_names_the_users_line(place: Path, name: str, code: str, kind: str) -> None:
    (place / f"{name}.py").write_text(code)
    assert kind in error_of(f"{name}:agent")


def test_a_request_that_we_refuse_names_the_users_line_and_not_ours(place: Path) -> None:
    (place / "mine.py").write_text("from dfah import Suite\n\nsuite = Suite.load('no-such-suite')\n")
    assert "importing mine failed at mine.py:3: ConfigurationError: no suite named" in error_of("mine:agent")


def test_a_secret_in_an_import_error_is_redacted(place: Path) -> None:
    (place / "secret4.py").write_text("raise ValueError('key sk-ant-abcdefghijklmnopqrstuvwxyz')\n")
    assert "sk-ant" not in error_of("secret4:agent")


def test_a_missing_dependency_says_what_to_install(place: Path) -> None:
    (place / "needs5.py").write_text("import no_such_dependency.deep\n")
    text = error_of("needs5:agent")
    assert "at needs5.py:1" in text
    assert "install the package that provides 'no_such_dependency'" in text


def test_a_missing_name_lists_the_agents_of_the_module(place: Path) -> None:
    (place / "agents6.py").write_text(AGENT)
    assert "did you mean 'my_agent'?" in error_of("agents6:my_agnet")
    assert "agents in agents6: my_agent" in error_of("agents6:something_else")


def test_agents_made_on_demand_are_suggested_without_making_them(place: Path) -> None:
    (place / "lazy6.py").write_text(
        "def __dir__():\n    return ['lazy_agent']\ndef __getattr__(name):\n"
        "    assert name != 'lazy_agent'\n    raise AttributeError(name)\n"
    )
    assert "did you mean 'lazy_agent'?" in error_of("lazy6:lazy_agnet")


@pytest.mark.parametrize(
    ("name", "lacks"),
    [("plain", "@agent"), ("plain", "bring(...)"), ("Holder", "instance"), ("suite", "arun"), ("manifest", "arun")],
)
def test_an_object_that_is_no_agent_says_what_is_missing(place: Path, name: str, lacks: str) -> None:
    (place / "agents7.py").write_text(AGENT)
    text = error_of(f"agents7:{name}")
    assert lacks in text
    assert "agents in agents7: my_agent" in text


def test_two_owners_of_the_import_name_are_named_with_the_fix(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owners = {"dfah": ["dfah-cli", "dfah-bench"]}
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: owners)
    (place / "other8.py").write_text("from dfah import NothingOfTheKind\n")
    text = error_of("other8:agent")
    assert "dfah-bench and dfah-cli are both installed" in text
    assert "pip uninstall dfah-bench" in text


def test_one_owner_of_the_import_name_is_no_conflict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "packages_distributions", lambda: {"dfah": ["dfah-cli"]})
    assert reference.shared_import_name() == ""


def test_a_script_elsewhere_finds_the_current_directory(place: Path) -> None:
    (place / "agents9.py").write_text(AGENT)
    code = "from dfah_cli.adapter.reference import load_agent; print(load_agent('agents9:my_agent'))"
    done = subprocess.run([sys.executable, "-P", "-c", code], cwd=place, capture_output=True, text=True, check=True)
    assert "my_agent" in done.stdout
