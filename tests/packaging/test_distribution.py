"""Wheel, source distribution and checkout plan the same, and the wheel holds what it needs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("dfah", "dfah_cli", "configs", "suites", "pyproject.toml", "README.md", "LICENSE")
PLANS = (("suite=toy-risk",), ("-cn", "unstable-triage"), ("suite=dataops-exceptions", "gate=strict", "limit=3"))

pytestmark = pytest.mark.slow


def build(source: Path, target: str, into: Path) -> Path:
    """A distribution built from a copy, so that nothing is written beside the sources."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = into.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders to import from: the checkout, the wheel, and the wheel made of the source distribution."""
    pytest.importorskip("hatchling", reason="no build backend; run: python -m pip install 'dfah-cli[dev]'")
    work = tmp_path_factory.mktemp("build")
    copy = work / "copy"
    copy.mkdir()
    for name in SOURCES:
        if not (ROOT / name).exists():
            pytest.skip(f"the checkout has no {name}; it cannot be built")
        ignore = shutil.ignore_patterns("__pycache__", "_data")
        copied = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copied(ROOT / name, copy / name, **({"ignore": ignore} if copied is shutil.copytree else {}))
    wheel = build(copy, "wheel", work / "wheel")
    with tarfile.open(build(copy, "sdist", work / "sdist")) as archive:
        archive.extractall(work / "unpacked", filter="data")
    (unpacked,) = (work / "unpacked").iterdir()
    again = build(unpacked, "wheel", work / "again")
    for name, file in (("from_wheel", wheel), ("from_sdist", again)):
        with zipfile.ZipFile(file) as archive:
            archive.extractall(work / name)
    return {"checkout": ROOT, "wheel": work / "from_wheel", "sdist": work / "from_sdist"}


def plan(place: Path, arguments: tuple[str, ...], folder: Path) -> str:
    environment = {**os.environ, "PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1"}
    code = (
        "import sys, dfah_cli; from dfah_cli.cli.hydra_app import main; "
        "print(dfah_cli.__file__, file=sys.stderr); sys.exit(main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code, *arguments, "plan=only", "--json"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(str(place))
    return str(json.loads(done.stdout)["run_plan_sha256"])


@pytest.mark.parametrize("arguments", PLANS, ids=" ".join)
def test_every_way_of_installing_plans_the_same(
    installed: dict[str, Path], tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    assert len({plan(place, arguments, tmp_path) for place in installed.values()}) == 1


@pytest.mark.parametrize("way", ["wheel", "sdist"])
def test_the_wheel_holds_configs_suites_schemas_and_templates(installed: dict[str, Path], way: str) -> None:
    package = installed[way] / "dfah_cli"
    for kind in ("configs", "suites"):
        expected = {str(path.relative_to(ROOT / kind)) for path in (ROOT / kind).rglob("*.yaml")}
        assert {
            str(path.relative_to(package / "_data" / kind)) for path in (package / "_data" / kind).rglob("*.yaml")
        } == expected
    for folder in ("loading/schemas", "cli/project_template", "render/templates"):
        expected = {path.name for path in (ROOT / "dfah_cli" / folder).iterdir() if path.name != "__pycache__"}
        assert {path.name for path in (package / folder).iterdir()} == expected
