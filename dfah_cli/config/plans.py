"""The plans of a project: of its named run configs, of an override list, of another git revision."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from dfah_cli.config.compose import compose_run, hydra_session
from dfah_cli.config.freeze import freeze
from dfah_cli.config.groups import PRIMARY
from dfah_cli.config.named import named_configs
from dfah_cli.config.overrides import check_overrides, for_hydra
from dfah_cli.errors import ConfigurationError, DFAHError
from dfah_cli.loading import strict_yaml
from dfah_cli.loading.files import read_source
from dfah_cli.loading.wording import quoted
from dfah_cli.workflow.freezing import FrozenPlan, plan_only
from dfah_cli.workflow.lockfile import parse_lock
from dfah_cli.workflow.plan_facts import PlanFacts, facts_from, plan_facts
from dfah_cli.workflow.request import RunRequest

LOCK = "plans.lock"
GIT_TIMEOUT_S = 60.0
PLAN_TIMEOUT_S = 600.0


def planned(overrides: list[str], config_name: str = PRIMARY) -> tuple[RunRequest, FrozenPlan]:
    """The request and the frozen plan of a command line."""
    checked = check_overrides(overrides, sweep=False)
    with hydra_session():
        request = freeze(compose_run([for_hydra(override) for override in checked], config_name))
    return request, plan_only(request)


def named_plans(*, tolerant: bool = False) -> list[PlanFacts]:
    """The plans of every run config of the project, by name.

    tolerant: a config that cannot be planned is an entry with its error.
    Raises: ConfigurationError naming the config otherwise.
    """
    plans = []
    for name in named_configs():
        try:
            request, plan = planned([], name)
        except DFAHError as refusal:
            if not tolerant:
                raise ConfigurationError(f"configs/{name}.yaml: {refusal}") from refusal
            plans.append(PlanFacts(name=name, error=" · ".join(str(refusal).splitlines())))
            continue
        plans.append(plan_facts(name, plan, request.policy))
    return plans


def plans_of(reference: str | None) -> list[PlanFacts]:
    """The plans a reference means: None for the project as it is, a file (JSON or plans.lock), or a git revision.

    Raises: ConfigurationError when it is none of them.
    """
    if reference is None:
        return named_plans(tolerant=True)
    path = Path(reference)
    if path.is_file():
        source = read_source(path)
        if path.suffix == ".json":
            return facts_from(strict_yaml.load(path).value, reference)
        return parse_lock(source.text, reference)
    return revision_plans(reference)


def revision_plans(revision: str) -> list[PlanFacts]:
    """The plans of the project as it was at a git revision; its adapters are imported, in a process of their own."""
    if revision.startswith("-"):
        raise ConfigurationError(f"{quoted(revision)} is no file and no git revision")
    try:
        commit = _git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}").strip().decode()
    except ConfigurationError as refusal:
        raise ConfigurationError(f"{quoted(revision)} is no file and no git revision ({refusal})") from None
    inside = os.fsdecode(_git("rev-parse", "--show-prefix")).rstrip("\n")
    top = os.fsdecode(_git("rev-parse", "--show-toplevel")).rstrip("\n")
    with tempfile.TemporaryDirectory(prefix="dfah-plan-") as folder:
        with tarfile.open(fileobj=io.BytesIO(_git("archive", "--format=tar", commit, where=top))) as archive:
            archive.extractall(folder, filter="data")
        project = Path(folder, inside)
        if not project.is_dir():
            return []
        return _plans_in(project, revision)


def _plans_in(project: Path, revision: str) -> list[PlanFacts]:
    command = [sys.executable, "-P", "-m", "dfah_cli.cli.main", "plan", "show", "--all", "--json"]
    done = subprocess.run(
        command, cwd=project, capture_output=True, timeout=PLAN_TIMEOUT_S, check=False, stdin=subprocess.DEVNULL
    )
    try:
        return facts_from(json.loads(done.stdout), revision)
    except (ValueError, DFAHError):
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ConfigurationError(f"{revision}: its plans cannot be made: {said[-1] if said else 'no output'}") from None


def _git(*arguments: str, where: str = ".") -> bytes:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=where, capture_output=True, timeout=GIT_TIMEOUT_S, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ConfigurationError(f"git cannot be run ({type(problem).__name__})") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise ConfigurationError(f"git: {said[0] if said else 'refused'}")
    return done.stdout
