"""Tools of an MCP server, over stdio or streamable HTTP, through the official SDK.

The server's list is compared with the suite's tools before every episode: a list that changed is a contract error,
because what the agent was offered is part of the experiment. The order of the list means nothing and is not compared.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

from attrs import field, frozen

from dfah_cli.adapter.registry import ToolRegistry
from dfah_cli.errors import AgentContractError, ConfigurationError
from dfah_cli.integrations.resources import PerLoop, api_key, optional
from dfah_cli.records import fields
from dfah_cli.records.suite import Suite, tool_schema_hash
from dfah_cli.records.tool_spec import ToolSpec

EXTRA = "mcp"
OPEN_TIMEOUT_S = 30.0


class MCPToolError(Exception):
    """The server says that a tool failed."""


@frozen(kw_only=True)
class MCPServer:
    """Where a server is: a program to start, or an address.

    environment: names of variables the program gets; the SDK hands on only a few by itself. api_key_env: variable
    with the bearer token of the address. only: the tools that count; empty for all the server has.
    """

    command: tuple[str, ...] = field(
        default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.public_name)
    )
    url: str | None = field(default=None, validator=fields.optional(fields.public_name))
    environment: tuple[str, ...] = field(default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.name))
    api_key_env: str | None = field(default=None, validator=fields.optional(fields.name))
    only: tuple[str, ...] = field(default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.name))

    def __attrs_post_init__(self) -> None:
        if bool(self.command) == (self.url is not None):
            raise ConfigurationError("mcp: expected either command (a list) or url")


def server_of(mapping: Any) -> MCPServer:
    """The server in a declaration.

    Raises: ConfigurationError naming an unknown key.
    """
    known = ("command", "url", "environment", "api_key_env", "only")
    if not isinstance(mapping, Mapping):
        raise ConfigurationError("adapter.tools.mcp: expected {command: [...]} or {url: ...}")
    unknown = sorted(str(key) for key in mapping if key not in known)
    if unknown:
        raise ConfigurationError(f"adapter.tools.mcp: unknown key {unknown[0]!r}; there are {', '.join(known)}")
    return MCPServer(**dict(mapping))


class MCPTools:
    """The suite's tools behind a server. `registry` goes to the harness, `check` before each episode."""

    def __init__(self, server: MCPServer, suite: Suite) -> None:
        self._server, self._suite = server, suite
        self._connections = PerLoop(lambda: _Connection(server), lambda connection: connection.close())
        self.registry = ToolRegistry()
        for spec in suite.tools:
            self.registry.register(spec, self._function(spec.name))

    def check_key(self) -> None:
        """Nothing, when the key a server is reached with is there.

        Raises: ConfigurationError naming the variable that is not set.
        """
        if self._server.url is not None and self._server.api_key_env is not None:
            api_key(self._server.api_key_env, self._server.url)

    async def check(self) -> None:
        """Nothing, when the server's tools are those of the suite.

        Raises: AgentContractError naming the tools that differ.
        """
        found = await self._offered()
        if tool_schema_hash(found) == self._suite.tool_schema_hash:
            return
        declared, offered = {s.name: s for s in self._suite.tools}, {s.name: s for s in found}
        groups = (
            ("gone", declared.keys() - offered.keys()),
            ("new", offered.keys() - declared.keys()),
            ("changed", {name for name in declared.keys() & offered.keys() if declared[name] != offered[name]}),
        )
        told = "; ".join(f"{what}: {', '.join(sorted(names))}" for what, names in groups if names)
        raise AgentContractError(f"the MCP server's tools are not those of suite {self._suite.suite_id} ({told})")

    async def _offered(self) -> tuple[ToolSpec, ...]:
        connection = self._connections.get()
        try:
            return await connection.specs()
        except Exception:  # noqa: BLE001 - whatever the SDK raises for a connection that is gone
            # A server that ended in an earlier episode is started again: its end was that episode's failure only.
            await self._connections.discard(connection)
            return await self._connections.get().specs()

    async def aclose(self) -> None:
        """Ends the connection of the running loop, and with it a program that was started."""
        await self._connections.aclose()

    def _function(self, name: str) -> Callable[..., Awaitable[Any]]:
        async def called(**arguments: Any) -> Any:
            return await self._connections.get().call(name, arguments)

        called.__name__ = name
        return called


def tool_specs(server: MCPServer) -> tuple[ToolSpec, ...]:
    """The server's tools as a suite declares them, in name order; connects for this alone."""
    found: list[tuple[ToolSpec, ...]] = []
    failures: list[BaseException] = []

    async def look() -> None:
        connection = _Connection(server)
        try:
            found.append(await connection.specs())
        finally:
            await connection.close()

    def work() -> None:
        try:
            asyncio.run(look())
        except BaseException as problem:  # noqa: BLE001 - carried over to the calling thread
            failures.append(problem)

    # In a thread: the caller may be inside a loop of its own.
    thread = threading.Thread(target=work, name="dfah-mcp", daemon=True)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]
    return found[0]


class _Connection:
    """One connection, kept by a task of its own: what the SDK opens must be closed by the task that opened it."""

    def __init__(self, server: MCPServer) -> None:
        self._server = server
        self._ready: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._stop = asyncio.Event()
        self._task = asyncio.ensure_future(self._keep())

    async def specs(self) -> tuple[ToolSpec, ...]:
        client, tools, cursor = await self._client(), [], None
        while True:
            page = await client.list_tools(cursor=cursor, cache_mode="bypass")
            tools += page.tools
            cursor = page.next_cursor
            if cursor is None:
                break
        only = self._server.only
        specs = [
            ToolSpec(name=tool.name, description=tool.description or "", input_schema=tool.input_schema)
            for tool in tools
            if not only or tool.name in only
        ]
        return tuple(sorted(specs, key=lambda spec: spec.name))

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        result = await (await self._client()).call_tool(name, arguments)
        if result.is_error:
            raise MCPToolError(" ".join(getattr(part, "text", "") for part in result.content)[:500])
        if result.structured_content is not None:
            return result.structured_content
        parts = [part.model_dump(mode="json", exclude_none=True) for part in result.content]
        return parts[0]["text"] if len(parts) == 1 and parts[0].get("type") == "text" else parts

    async def close(self) -> None:
        self._stop.set()
        await asyncio.wait({self._task}, timeout=OPEN_TIMEOUT_S)

    async def _client(self) -> Any:
        return await asyncio.wait_for(asyncio.shield(self._ready), OPEN_TIMEOUT_S)

    async def _keep(self) -> None:
        try:
            async with AsyncExitStack() as stack:
                client = await stack.enter_async_context(await _opened(self._server, stack))
                self._ready.set_result(client)
                await self._stop.wait()
        except Exception as problem:  # noqa: BLE001 - handed to whoever waits for the connection
            if not self._ready.done():
                self._ready.set_exception(problem)
                # Nobody may be waiting any more; then it is no news.
                self._ready.exception()


async def _opened(server: MCPServer, stack: AsyncExitStack) -> Any:
    import os

    library = optional("mcp", EXTRA)
    if server.url is None:
        named = {name: os.environ[name] for name in server.environment if name in os.environ}
        program, *arguments = server.command
        return library.Client(library.StdioServerParameters(command=program, args=arguments, env=named or None))
    if server.api_key_env is None:
        return library.Client(server.url)
    transport, http = optional("mcp.client.streamable_http", EXTRA), optional("httpx2", EXTRA)
    headers = {"Authorization": f"Bearer {api_key(server.api_key_env, server.url)}"}
    client = await stack.enter_async_context(http.AsyncClient(headers=headers, timeout=OPEN_TIMEOUT_S))
    return library.Client(transport.streamable_http_client(server.url, http_client=client))
