"""A sweep through one of Hydra's launchers (joblib, submitit): its jobs may run in other processes or on other hosts.

What a job returns does not survive every launcher, so each job writes what it came to beside Hydra's own files, in a
folder of the sweep inside the store, and the caller reads it there.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.core.override_parser.types import Quote, QuotedString

from dfah_cli.cli.hydra_sweep import FrozenJob, JobOutcome, facts_of
from dfah_cli.config.compose import plain_config, run_hydra
from dfah_cli.config.freeze import freeze
from dfah_cli.config.overrides import for_hydra
from dfah_cli.errors import ConfigurationError, DFAHError, ExitCode
from dfah_cli.store.places import place_of
from dfah_cli.workflow.replay import DEFAULT_STORE

if TYPE_CHECKING:
    from hydra.core.override_parser.types import Override
    from omegaconf import DictConfig

RESULT = "result.json"
QUIET = ("hydra.output_subdir=null", "hydra/job_logging=none", "hydra/hydra_logging=none", "hydra.job.chdir=false")


def launch(jobs: Sequence[FrozenJob], overrides: list[Override], config_name: str) -> list[JobOutcome]:
    """The outcomes of the jobs, in order.

    Raises: ConfigurationError when the jobs have different stores, or the launcher refuses.
    """
    stores = {job.request.store for job in jobs}
    if len(stores) > 1:
        raise ConfigurationError("a launcher needs one store for all jobs; do not vary store=…")
    store = place_of(stores.pop())
    # Hydra writes files: the results of jobs lie here, their runs in the object storage.
    folder = Path(
        store if isinstance(store, Path) else DEFAULT_STORE,
        "sweeps",
        f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.getpid()}",
    )
    place = f"hydra.sweep.dir={QuotedString(str(folder), Quote.single).with_quotes()}"
    texts = [for_hydra(override) for override in overrides]
    run_hydra(["--multirun", *texts, place, "hydra.sweep.subdir=${hydra:job.num}", *QUIET], config_name, launched_job)
    return [_outcome(job, folder / str(index) / RESULT) for index, job in enumerate(jobs)]


def launched_job(config: DictConfig) -> int:
    """Runs one job wherever the launcher put it, and leaves its result; a failure is a result too."""
    from hydra.core.hydra_config import HydraConfig

    from dfah_cli.workflow.run import execute

    # Made by Hydra before the job began.
    folder = Path(HydraConfig.get().runtime.output_dir)
    try:
        result = execute(freeze(plain_config(config)))
        told: dict[str, Any] = {"exit_code": int(result.exit_code), "facts": facts_of(result)}
    except DFAHError as failure:
        told = {"exit_code": int(failure.exit_code), "error": str(failure)}
    (folder / RESULT).write_text(json.dumps(told), "utf-8")
    return int(told["exit_code"])


def _outcome(job: FrozenJob, path: Path) -> JobOutcome:
    varied = dict(job.job.varied)
    try:
        told = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return JobOutcome(number=job.number, varied=varied, exit_code=int(ExitCode.BUG), error=f"left no {path}")
    return JobOutcome(number=job.number, varied=varied, **told)
