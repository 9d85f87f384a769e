"""An agent behind an HTTP endpoint: the question is posted, the answer is JSON. Standard library only.

The endpoint calls its tools itself and tells of them in `tool_calls`. The key of the slot goes into the header
`Idempotency-Key`, so that a payload is the same for every replay.
"""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from dfah_cli.adapter.contract import RunContext
from dfah_cli.canonical import canonical_bytes
from dfah_cli.errors import ConfigurationError
from dfah_cli.integrations.declaration import Setting
from dfah_cli.integrations.declared import Made
from dfah_cli.integrations.foreign import question, reply_of
from dfah_cli.integrations.resources import api_key
from dfah_cli.integrations.seam import Reply
from dfah_cli.records.case import Case

MAX_ANSWER = 64 * 1024 * 1024


class EndpointError(Exception):
    """The endpoint answered with another status than 2xx, or with no JSON."""


class _NoRedirect(HTTPRedirectHandler):
    """A redirect would carry the key elsewhere, and repeat the request under another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def make(setting: Setting) -> Made:
    """The agent of a declaration."""
    declared = setting.declaration
    if declared.url is None or not declared.url.startswith(("http://", "https://")):
        raise ConfigurationError(
            "adapter.url: missing; expected the address of the endpoint, http://... or https://..."
        )
    opener = build_opener(_NoRedirect)

    # A plain function: the harness runs it in a thread of its own.
    def answer(case: Case, context: RunContext) -> Reply:
        asked = question(setting, case)
        request = Request(str(declared.url), data=canonical_bytes(asked), headers=_headers(setting, context))
        try:
            with opener.open(request, timeout=declared.request_timeout_s) as response:
                given = json.loads(response.read(MAX_ANSWER))
        except HTTPError as problem:
            with problem:
                raise EndpointError(f"the endpoint answered with status {problem.code}") from None
        except (ValueError, HTTPException) as problem:
            raise EndpointError(f"the endpoint's answer is no JSON ({type(problem).__name__})") from None
        return reply_of(given, asked, own_tools=True)

    return Made(answer=answer, provider="http", ready=lambda: _key_of(setting))


def _key_of(setting: Setting) -> str | None:
    variable = setting.declaration.api_key_env
    # Named for this endpoint, so it is needed wherever the endpoint is.
    return None if variable is None else api_key(variable, None)


def _headers(setting: Setting, context: RunContext) -> dict[str, str]:
    headers = {"Content-Type": "application/json", "Idempotency-Key": context.idempotency_key}
    key = _key_of(setting)
    if key is not None:
        headers["Authorization"] = f"Bearer {key}"
    return headers
