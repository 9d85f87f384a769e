"""The run directory: `FileStore(path)` opens one for reading or writing."""

from dfah_cli.records.run_plan import RunPlan
from dfah_cli.store.log import LogStore as FileStore
from dfah_cli.store.protocol import RunReader, RunStore, RunWriter

__all__ = ["FileStore", "RunPlan", "RunReader", "RunStore", "RunWriter"]
