"""Bringing an agent that already exists under test, and a provider on this machine to try it against."""

from dfah_cli.integrations.bring import bring
from dfah_cli.integrations.declared import agent_from_mapping
from dfah_cli.integrations.loopback.seeded import Seeded
from dfah_cli.integrations.loopback.server import LoopbackProvider
from dfah_cli.integrations.mcp_tools import MCPServer, tool_specs
from dfah_cli.integrations.seam import Prices
from dfah_cli.integrations.tools import recorded
from dfah_cli.integrations.wire.tap import watch

__all__ = [
    "LoopbackProvider",
    "MCPServer",
    "Prices",
    "Seeded",
    "agent_from_mapping",
    "bring",
    "recorded",
    "tool_specs",
    "watch",
]
