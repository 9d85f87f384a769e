"""The result type of the Every Eval Ever exporter, which this version does not have."""

from dfah_cli.errors import OptionalDependencyError


class EveryEvalEverExportResult:
    """What an export wrote; this version makes none."""

    def __init__(self) -> None:
        """Raises: OptionalDependencyError always."""
        raise OptionalDependencyError("the every-eval-ever exporter is not part of this version; it makes no results")
