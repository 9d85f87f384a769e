"""Preflight of an adapter."""

from dfah_cli.records.enums import ConformanceStatus
from dfah_cli.workflow.conformance import ConformanceCheck, ConformanceReport, check_agent

__all__ = ["ConformanceCheck", "ConformanceReport", "ConformanceStatus", "check_agent"]
