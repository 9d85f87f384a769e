"""The harness: plans, runs, records, analyses and gates replays of an agent."""

from dfah_cli.version import __version__

__all__ = ["__version__"]
