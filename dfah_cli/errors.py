"""Every expected failure and its exit code, on one page.

A message says what was found, what was expected, where, and what to do next; it never quotes a private value.
The exit codes are the table of docs/cli.md.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a command tells its caller; the most serious of several jobs counts (see `most_serious`)."""

    OK = 0
    NO = 1
    BAD_REQUEST = 2
    BAD_EVIDENCE = 3
    UNDECIDED = 4
    LOCKED = 5
    BUG = 70
    INTERRUPTED = 130
    TERMINATED = 143


SERIOUSNESS = (
    ExitCode.TERMINATED,
    ExitCode.INTERRUPTED,
    ExitCode.BUG,
    ExitCode.BAD_EVIDENCE,
    ExitCode.LOCKED,
    ExitCode.BAD_REQUEST,
    ExitCode.UNDECIDED,
    ExitCode.NO,
    ExitCode.OK,
)


def most_serious(codes: list[ExitCode]) -> ExitCode:
    """The code that speaks for several jobs; OK when there are none."""
    return min(codes, key=SERIOUSNESS.index, default=ExitCode.OK)


class DFAHError(Exception):
    """Base of every failure a caller can cause or meet; `exit_code` is what the command line returns for it."""

    exit_code: ExitCode = ExitCode.BAD_REQUEST


class ConfigurationError(DFAHError):
    """The request is wrong; nothing was dispatched."""


class ValidationError(ConfigurationError, ValueError):
    """A record is invalid: names the field, what was found (its type or shape) and what was expected."""


class AgentContractError(DFAHError):
    """The adapter broke its contract with the harness."""

    exit_code = ExitCode.NO


class ToolExecutionError(DFAHError):
    """A tool call was rejected or failed; the episode becomes `tool_error` even if the adapter catches this."""

    exit_code = ExitCode.NO


class NotRecordedError(ToolExecutionError):
    """A replay of recorded tools was asked for a result that the recording does not have; no tool is called for it."""


class EligibilityError(DFAHError):
    """A number was asked for that has no eligible replay group under it."""

    exit_code = ExitCode.UNDECIDED


class ManifestMismatchError(ConfigurationError):
    """Two things that must share one manifest or design do not."""


class DesignMismatchError(ManifestMismatchError):
    """The run directory is bound to another design; the message names each differing field and both values."""


class SuiteVersionMismatchError(ConfigurationError):
    """Two reports measure different suite versions."""


class OptionalDependencyError(ConfigurationError, ImportError):
    """An optional package is missing; the message has the exact install command, `install_command`."""


def install_command(extra: str) -> str:
    """The command that adds the packages of an extra."""
    return f"python -m pip install 'dfah-cli[{extra}]'"


class ArtifactError(DFAHError):
    """What is on disk cannot be believed. part: the file of the run directory it is about; None when it is no one's."""

    exit_code = ExitCode.BAD_EVIDENCE

    def __init__(self, *arguments: object, part: str | None = None) -> None:
        super().__init__(*arguments)
        self.part = part


class NewerVersionError(ArtifactError):
    """A later version of this program recorded it: nothing is wrong with it, and nothing can be said about it here."""

    def __init__(self, what: str, found: object, known: object, *, part: str | None = None) -> None:
        text = f"{what} has version {found}; this program knows {known}. Use a later version of dfah-cli"
        super().__init__(text, part=part)


class EpisodeConflictError(ArtifactError):
    """Two different terminal records claim one slot."""


class IncompleteEpisodeError(ArtifactError):
    """An episode was asked for that has no terminal record."""


class StorageError(DFAHError):
    """The disk failed or is full; what was acknowledged before is safe, nothing more is dispatched."""

    exit_code = ExitCode.UNDECIDED


class FencedError(StorageError):
    """Another writer took over a log in an object storage; this one wrote nothing after it and calls nobody."""

    exit_code = ExitCode.LOCKED


class LeaseError(DFAHError):
    """Another writer holds the run directory, or left a stale lease in it."""

    exit_code = ExitCode.LOCKED


class StaleLeaseError(LeaseError):
    """The writer that left the lease is gone; recovering needs the caller's explicit word."""


class BudgetExceededError(DFAHError):
    """The budget admits no further episode."""

    exit_code = ExitCode.UNDECIDED


class GateViolationError(DFAHError):
    """A blocking gate did not pass."""

    exit_code = ExitCode.NO
