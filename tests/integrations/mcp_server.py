"""A real MCP server with two tools, over stdio or, given a port, streamable HTTP. A third tool appears when the file
named in DFAH_TEST_DRIFT exists."""

import os
import sys
import time
from pathlib import Path

from mcp.server.mcpserver import MCPServer

server = MCPServer("refunds")


@server.tool()
def lookup_customer(customer: str) -> dict[str, str]:
    """Who it is."""
    return {"customer": customer, "tier": "gold"}


@server.tool()
def read_policy(customer: str) -> str:
    """What is allowed."""
    how = os.environ.get("DFAH_TEST_FAIL")
    if how == "exit":
        os._exit(3)
    if how == "hang":
        time.sleep(60)
    if how:
        raise RuntimeError("the policy server is down")
    return "refund within 30 days"


def close_account(customer: str) -> str:
    """Ends it all."""
    return "closed"


drift = os.environ.get("DFAH_TEST_DRIFT")
if drift and Path(drift).exists():
    server.tool()(close_account)

if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
