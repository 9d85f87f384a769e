"""The files of a small new project that runs at once: configs, suite, adapter stub, test, Makefile, CI."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading.resources import check_name

# Template -> where it goes; NAME and MODULE stand for the project's name, also in the text.
FILES = {
    "run.yaml": "configs/NAME.yaml",
    "gate.yaml": "configs/gate/NAME.yaml",
    "adapters.yaml": "configs/adapters.yaml",
    "suite.yaml": "suites/NAME.yaml",
    "agent.py.txt": "MODULE_agent.py",
    "test_agent.py.txt": "tests/test_MODULE_agent.py",
    "Makefile": "Makefile",
    "github.yml": ".github/workflows/dfah.yml",
    "gitlab.yml": ".gitlab-ci.yml",
    "pre-commit.yaml": ".pre-commit-config.yaml",
    "gitignore": ".gitignore",
}


def project_files(name: str) -> dict[str, str]:
    """The files of a project by path, relative to its folder.

    Raises: ConfigurationError for a name that no suite can have.
    """
    check_name(name, "project")
    module = name.replace("-", "_")

    def named(text: str) -> str:
        return text.replace("NAME", name).replace("MODULE", module)

    templates = resources.files("dfah_cli.cli") / "project_template"
    return {named(place): named((templates / template).read_text("utf-8")) for template, place in FILES.items()}


def write_project(folder: Path, files: Mapping[str, str]) -> None:
    """Writes the files, and none of them when one exists already.

    Raises: ConfigurationError naming every file that exists.
    """
    there = [name for name in files if (folder / name).exists() or (folder / name).is_symlink()]
    if there:
        raise ConfigurationError(f"{folder}: nothing was written, because these exist: {', '.join(there)}")
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as stream:
                stream.write(text)
        except OSError as problem:
            raise ConfigurationError(f"{path}: cannot be written ({problem.strerror})") from None
