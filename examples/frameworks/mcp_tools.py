"""A declared agent whose tools are those of an MCP server: `pip install 'dfah-cli[openai,mcp]'`.

This file is the server too: `python mcp_tools.py serve`.
"""

import sys

from refunds import lookup_customer, provider, read_policy, suite

SERVER = {"command": [sys.executable, __file__, "serve"]}


def serve():
    from mcp.server.mcpserver import MCPServer

    server = MCPServer("refunds")
    server.tool()(lookup_customer)
    server.tool()(read_policy)
    server.run("stdio")


def main():
    from attrs import evolve

    from dfah import Replay
    from dfah.integrations import MCPServer, agent_from_mapping, tool_specs

    # A suite file would state these once, so that a change of the server is noticed.
    served = evolve(suite, tools=tool_specs(MCPServer(**SERVER)))
    with provider:
        declared = {"kind": "openai", "model": "demo-model", "base_url": provider.openai_url, "tools": {"mcp": SERVER}}
        agent = agent_from_mapping(declared, served)
        out = f".dfah/runs/refunds-{agent.manifest.hash[:12]}"
        report = Replay(suite=served, replays=5, out=out, episode_timeout_s=60).run(agent)
        print(f"status {report.status}  DAR {report.dar:.2f}  TAR.seq {report.tar.seq:.2f}")


if __name__ == "__main__":
    serve() if sys.argv[1:] == ["serve"] else main()
