"""Credential shapes: a safety net for text, not a data classification system.

Redaction never touches an identity and never runs inside the encoder: what would be hashed is refused instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

# One literal table; every shape is a fixed prefix and a bounded tail, so matching is linear.
CREDENTIAL_SHAPES = {
    "Anthropic or OpenAI key": r"\bsk-(?:ant-|proj-|svcacct-)?[A-Za-z0-9_-]{16,}",
    "AWS access key id": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "AWS secret key": r"(?i)\baws_?secret_?(?:access_?)?key\W{1,4}[A-Za-z0-9/+]{40}\b",
    "Google key": r"\bAIza[A-Za-z0-9_-]{30,}",
    "Google OAuth token": r"\bya29\.[A-Za-z0-9_-]{20,}",
    "Slack token": r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    "GitHub token": r"\b(?:gh[opusr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})",
    "GitLab token": r"\bgl(?:pat|dt|rt|cbt|ptt)-[A-Za-z0-9_-]{18,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "Stripe key": r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    "JSON web token": r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    # The block itself, and all that follows where its end was cut off.
    "PEM block": r"-----BEGIN [A-Z ]{0,40}(?:PRIVATE KEY|CERTIFICATE)-----[\s\S]*?(?:-----END [A-Z ]{0,60}-----|\Z)",
    "bearer header": r"(?i)\bbearer\s{1,4}[A-Za-z0-9._~+/-]{16,}=*",
    "password in a URL": r"\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{1,200}:[^\s/@]{1,200}@",
}
_ANY = re.compile(
    "|".join(f"(?P<s{i}>{p.removeprefix('(?i)')})" for i, p in enumerate(CREDENTIAL_SHAPES.values())), re.I
)
REDACTED = "[redacted]"
MAX_ERROR_TEXT = 2000


@cache
def _shapes() -> dict[str, re.Pattern[str]]:
    """Each shape by its name; made for the first text that may have one, and most commands see none."""
    return {name: re.compile(pattern) for name, pattern in CREDENTIAL_SHAPES.items()}


def credential_shape(text: str) -> str | None:
    """Name of the credential shape found in the text; None when there is none."""
    if not _ANY.search(text):
        return None
    return next((name for name, pattern in _shapes().items() if pattern.search(text)), None)


def redact(text: str) -> str:
    """The text with every credential shape replaced."""
    for pattern in _shapes().values():
        text = pattern.sub(REDACTED, text)
    return text


def text_of(problem: BaseException) -> str:
    """Redacted text of an exception, for the log only; at most `MAX_ERROR_TEXT` characters, and fit for UTF-8."""
    try:
        text = str(problem)
    except BaseException:  # noqa: BLE001 - __str__ is the user's code
        return "(its text could not be read)"
    # Redacted before it is cut: half a credential has no shape any more.
    told = redact(text[: 10 * MAX_ERROR_TEXT])[:MAX_ERROR_TEXT]
    return told.encode("utf-8", "replace").decode("utf-8")


def redact_json(value: Any) -> Any:
    """A JSON value with every string in it redacted, keys included."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): redact_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [redact_json(item) for item in value]
    return value


def strings_in(value: Any) -> Iterator[str]:
    """Every string of a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield key
            yield from strings_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from strings_in(item)
