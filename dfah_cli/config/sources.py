"""How Hydra finds and reads our files: by the strict loader, in the project's folders first.

Registered in process, not as a `hydra_plugins` package, which every Hydra program of the environment would scan.
The content of a suite never enters OmegaConf, which would change it: its group holds names only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeAlias

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from dfah_cli.config.files import read_config
from dfah_cli.config.groups import GROUPS
from dfah_cli.loading.resources import SUFFIXES, Folder, folders

Names: TypeAlias = "list[str]"  # the sources have a method `list`


class ConfigFolder(ConfigSource):
    """A configs folder: runs at its top, and the groups below it."""

    @staticmethod
    def scheme() -> str:
        return "dfah-configs"

    def load_config(self, config_path: str) -> ConfigResult:
        group, _, _ = config_path.rpartition("/")
        kind = GROUPS[group].kind if group else "run"
        value = read_config(self._file(config_path), kind)
        package = GROUPS[group].package if group else None
        return ConfigResult(
            config=OmegaConf.create(value),
            path=self.full_path(),
            provider=self.provider,
            header={"package": package or "_global_"},
        )

    def available(self) -> bool:
        return Path(self.path).is_dir()

    def is_group(self, config_path: str) -> bool:
        return config_path in ("", *GROUPS) and self._folder(config_path).is_dir()

    def is_config(self, config_path: str) -> bool:
        group, _, name = config_path.rpartition("/")
        if (group and (group not in GROUPS or group == "suite")) or name == "adapters":
            return False
        return self._file(config_path).exists()

    def list(self, config_path: str, results_filter: ObjectType | None) -> Names:
        groups = [group for group in GROUPS if self.is_group(group)] if config_path == "" else []
        files = {path.stem for path in self._folder(config_path).iterdir() if path.suffix in SUFFIXES}
        configs = [name for name in files if self.is_config(f"{config_path}/{name}".strip("/"))]
        return _listed(groups, configs, results_filter)

    def _folder(self, group: str) -> Path:
        return Path(self.path, group)

    def _file(self, config_path: str) -> Path:
        return Path(self.path, f"{config_path}.yaml")


class SuiteFolder(ConfigSource):
    """A suites folder, as the group `suite`; each option says its own name and nothing else."""

    @staticmethod
    def scheme() -> str:
        return "dfah-suites"

    def load_config(self, config_path: str) -> ConfigResult:
        return ConfigResult(
            config=OmegaConf.create({"suite": config_path.removeprefix("suite/")}),
            path=self.full_path(),
            provider=self.provider,
            header={"package": "_global_"},
        )

    def available(self) -> bool:
        return Path(self.path).is_dir()

    def is_group(self, config_path: str) -> bool:
        return config_path in ("", "suite")

    def is_config(self, config_path: str) -> bool:
        return config_path.startswith("suite/") and config_path.removeprefix("suite/") in self._names()

    def list(self, config_path: str, results_filter: ObjectType | None) -> Names:
        groups = ["suite"] if config_path == "" else []
        return _listed(groups, self._names() if config_path == "suite" else [], results_filter)

    def _names(self) -> Names:
        return [*Folder(self.provider, Path(self.path)).files()]


class DfahSearchPath(SearchPathPlugin):
    """Project configs, packaged configs, project suites, packaged suites."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        for kind, source in (("configs", ConfigFolder), ("suites", SuiteFolder)):
            for folder in folders(kind):
                search_path.append(f"dfah-{folder.origin}", f"{source.scheme()}://{folder.path}")


def register() -> None:
    """Makes the two sources and the search path known to Hydra in this process."""
    plugins = Plugins.instance()
    known: list[Any] = plugins.discover()
    for plugin in (ConfigFolder, SuiteFolder, DfahSearchPath):
        if plugin not in known:
            plugins.register(plugin)


def _listed(groups: Names, configs: Names, only: ObjectType | None) -> Names:
    shown = (groups if only != ObjectType.CONFIG else []) + (configs if only != ObjectType.GROUP else [])
    return sorted(set(shown))
