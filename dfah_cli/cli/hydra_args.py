"""The flags of `dfah-run`, read by us: one line for a wrong one, and `--help` without loading Hydra."""

from __future__ import annotations

import argparse
from typing import NoReturn

from attrs import frozen

from dfah_cli.errors import ConfigurationError
from dfah_cli.loading import resources
from dfah_cli.loading.schema_files import properties
from dfah_cli.loading.wording import did_you_mean, quoted

INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
GROUP_FOLDERS = (
    ("suite", "suites"),
    *((group, f"configs/{group}") for group in ("manifest", "replay", "gate", "engine", "report")),
)
HELP = """\
Replays a suite against an adapter and measures whether it repeats its decisions and its path.

usage: dfah-run [flags] suite=NAME [key=value …]

examples
  dfah-run suite=toy-risk replays=3                       run it; rerunning resumes and calls nobody again
  dfah-run suite=toy-risk plan=only                       print the frozen plan and its digest
  dfah-run -m suite=toy-risk replays=3,5,10               a sweep: every plan is frozen before the first call
  dfah-run -m 'suite=glob(*)' replays=2 limit=1           one case of every suite
  dfah-run suite=toy-risk adapter=my_project.adapter:my_agent gate=strict mode=blocking
  dfah-run suite=toy-risk budget_usd=2.5 max_episode_cost_usd=0.05 concurrency=8
  dfah-run suite=toy-risk 'case=[CASE-001]' 'report=[html,junit]'

groups (a project's ./configs and ./suites over the packaged ones)
{groups}

keys
{keys}

flags
  -m, --multirun            run every combination of the values given
  -cn, --config-name NAME   a run config of the project's own, configs/NAME.yaml
  -c, --cfg job|hydra|all   show the composed config and run nothing (--resolve, -p PACKAGE)
  -i, --info KIND           {info}
  -sc, --shell-completion   install=bash (or zsh, fish): eval "$(dfah-run -sc install=bash)"
  --json                    one JSON document on stdout
  --debug-log FILE          keep the log, with the text of adapter errors, outside the run directory
  --traceback               show the traceback of an unexpected error
  --version, -h, --help, --hydra-help

exit codes
  0 done, every gate passes · 1 a blocking gate failed · 2 the request is wrong, nothing was dispatched
  3 the evidence cannot be believed · 4 not enough to decide · 5 another writer holds the run directory
  70 a bug in this program · 130 interrupted · 143 terminated
"""


@frozen(kw_only=True)
class Arguments:
    """A parsed command line. passed: flags that Hydra handles itself, as it wants them."""

    overrides: tuple[str, ...]
    passed: tuple[str, ...]
    config_name: str | None
    help: bool
    version: bool
    multirun: bool
    json: bool
    debug_log: str | None
    traceback: bool


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ConfigurationError(f"{message}; see dfah-run --help")


def parse_arguments(argv: list[str]) -> Arguments:
    """The command line, flags apart from overrides.

    Raises: ConfigurationError for an unknown flag, or two that exclude each other.
    """
    parser = _parser()
    known, unknown = parser.parse_known_args(argv)
    overrides = [text for text in unknown if not text.startswith("-")]
    for flag in (text for text in unknown if text.startswith("-")):
        raise ConfigurationError(_unknown_flag(flag))
    passed: list[str] = []
    for given, flags in (
        (known.cfg, ["--cfg", known.cfg]),
        (known.info, ["--info", known.info]),
        (known.shell_completion, ["--shell-completion"]),
        (known.hydra_help, ["--hydra-help"]),
    ):
        if given:
            passed += flags
    if bool(known.multirun) + len([flag for flag in passed if flag.startswith("--")]) > 1:
        raise ConfigurationError("only one of --multirun, --cfg, --info, --hydra-help and --shell-completion at a time")
    passed += ["--resolve"] if known.resolve else []
    passed += ["--package", known.package] if known.package else []
    return Arguments(
        overrides=(*known.overrides, *overrides),
        passed=tuple(passed),
        **{name: getattr(known, name) for name in ("config_name", "help", "version", "multirun")},
        **{name: getattr(known, name) for name in ("json", "debug_log", "traceback")},
    )


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="dfah-run", add_help=False, allow_abbrev=False)
    parser.add_argument("overrides", nargs="*")
    for names in (
        ("--help", "-h"),
        ("--version",),
        ("--hydra-help",),
        ("--multirun", "-m"),
        ("--run", "-r"),
        ("--resolve",),
        ("--shell-completion", "-sc"),
        ("--json",),
        ("--traceback",),
    ):
        parser.add_argument(*names, action="store_true")
    parser.add_argument("--cfg", "-c", choices=("job", "hydra", "all"))
    parser.add_argument("--info", "-i", nargs="?", const="all", choices=INFO)
    parser.add_argument("--package", "-p")
    parser.add_argument("--config-name", "-cn")
    parser.add_argument("--debug-log")
    return parser


def _unknown_flag(flag: str) -> str:
    name, _, value = flag.lstrip("-").partition("=")
    if name in ("config-dir", "cd", "config-path", "cp"):
        return f"{flag}: configs are read from ./configs and ./suites; change into the project's folder instead"
    key = {"agent": "adapter", "policy": "gate"}.get(name, name.replace("-", "_"))
    if key in properties("run"):
        return f"no flag {quoted(flag)}; options are written key=value: {key}={value or 'VALUE'}"
    return f"no flag {quoted(flag)}{did_you_mean(key, properties('run'))}; see dfah-run --help"


def help_text() -> str:
    """What `dfah-run --help` prints: usage, groups with their options, keys, flags, exit codes."""
    groups = [f"  {group:<10}{', '.join(resources.available(kind))}" for group, kind in GROUP_FOLDERS]
    keys = [f"  {name:<24}{key['description']}" for name, key in properties("run").items() if "properties" not in key]
    return HELP.format(groups="\n".join(groups), keys="\n".join(keys), info="|".join(INFO))
