"""Names of the exporter to the Every Eval Ever format, which this version does not have."""

from typing import NoReturn

from dfah_cli.errors import ConfigurationError


class EveryEvalEverExportResult:
    """What an export wrote. This version makes none."""

    def __init__(self, *_: object, **__: object) -> None:
        _missing()


def export_every_eval_ever(*_: object, **__: object) -> NoReturn:
    """Raises: ConfigurationError; this version has no exporter."""
    _missing()


def validate_every_eval_ever(*_: object, **__: object) -> NoReturn:
    """Raises: ConfigurationError; this version has no exporter."""
    _missing()


def _missing() -> NoReturn:
    raise ConfigurationError(
        "this version does not export to Every Eval Ever; use Report.to_json or `dfah analyze RUN --json` instead"
    )
