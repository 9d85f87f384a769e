"""Watches the HTTP client under an SDK: every attempt it really makes, and what comes back.

Works on `httpx` and everything with its interface, through event hooks, so that no SDK has to be imported here and
no request is changed but for its accepted encoding: an answer is read as it arrives, and compressed it would not be
text. Outside an episode a watched client behaves as before.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

from dfah_cli.errors import ConfigurationError
from dfah_cli.integrations.wire.exchange import CURRENT, Exchange
from dfah_cli.integrations.wire.pace import retry_after_s

C = TypeVar("C")
# Where SDK clients and framework models keep the client below them.
INNER = ("_client", "_async_client", "client", "root_client", "root_async_client", "async_client")
MAX_DEPTH = 3


def watch(client: C) -> C:
    """The client itself; from now on what it sends during an episode is recorded.

    client: of an SDK, of a framework, or an HTTP client.
    Raises: ConfigurationError when there is no HTTP client in it.
    """
    found = list(_http_clients(client, 0))
    if not found:
        raise ConfigurationError(
            f"watch: found no HTTP client in {type(client).__name__}; expected an OpenAI or Anthropic client, a model "
            "of a framework that has one, or an httpx client"
        )
    for http in found:
        _attach(http)
    return client


def _http_clients(candidate: Any, depth: int) -> Iterator[Any]:
    if isinstance(getattr(candidate, "event_hooks", None), dict):
        yield candidate
        return
    if depth == MAX_DEPTH:
        return
    seen: set[int] = set()
    for name in INNER:
        inner = getattr(candidate, name, None)
        if inner is None or callable(inner) or id(inner) in seen:
            continue
        seen.add(id(inner))
        yield from _http_clients(inner, depth + 1)


def _attach(http: Any) -> None:
    is_async = inspect.iscoroutinefunction(http.send)
    on_request, on_response = (_arequest, _aresponse) if is_async else (_request, _response)
    hooks = http.event_hooks
    if on_request not in hooks["request"]:
        # Last in both lists: after hooks that change the request, before anyone reads the answer.
        http.event_hooks = {"request": [*hooks["request"], on_request], "response": [*hooks["response"], on_response]}


async def _arequest(request: Any) -> None:
    exchange = _current(request)
    if exchange is not None:
        await exchange.pace.awaited(exchange.meter)
        _note_request(exchange, request)


async def _aresponse(response: Any) -> None:
    _response(response)


def _request(request: Any) -> None:
    exchange = _current(request)
    if exchange is not None:
        exchange.pace.waited(exchange.meter)
        _note_request(exchange, request)


def _current(request: Any) -> Exchange | None:
    return CURRENT.get() if request.method == "POST" else None


def _note_request(exchange: Exchange, request: Any) -> None:
    request.headers["accept-encoding"] = "identity"
    try:
        payload = request.content
    except Exception:  # noqa: BLE001 - an upload that is streamed has no content yet; its class is the library's own
        payload = b""
    url = request.url
    # Without query and user: a key may stand there.
    exchange.note_sent(f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}{url.path}", payload)


def _response(response: Any) -> None:
    exchange = _current(response.request)
    if exchange is None:
        return
    if not 200 <= response.status_code < 300:
        exchange.note_failure(response.status_code)
        exchange.meter.pause(exchange.pace, retry_after_s(response.headers.get("retry-after")))
        return
    response.stream = _tee(response, _once(exchange))


def _once(exchange: Exchange) -> Callable[[list[bytes]], None]:
    done: list[bool] = []

    def note(chunks: list[bytes]) -> None:
        if not done:
            done.append(True)
            exchange.note_answer(b"".join(chunks))

    return note


def _tee(response: Any, note: Callable[[list[bytes]], None]) -> Any:
    """The response's stream, passed on unchanged and noted when it ends or is closed."""
    library: Any = sys.modules[type(response).__module__.partition(".")[0]]
    stream, chunks = response.stream, list[bytes]()

    class SyncTee(library.SyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            for chunk in stream:
                chunks.append(chunk)
                yield chunk
            note(chunks)

        def close(self) -> None:
            note(chunks)
            stream.close()

    class AsyncTee(library.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for chunk in stream:
                chunks.append(chunk)
                yield chunk
            note(chunks)

        async def aclose(self) -> None:
            note(chunks)
            await stream.aclose()

    return AsyncTee() if isinstance(stream, library.AsyncByteStream) else SyncTee()
