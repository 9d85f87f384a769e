"""An adapter as it is declared in YAML: `adapter: {kind: openai, model: ..., prompt: file, tools: ...}`."""

from __future__ import annotations

from pathlib import Path
from string import Template
from typing import Any

from attrs import field, frozen

from dfah_cli.canonical import canonical_bytes
from dfah_cli.errors import ConfigurationError
from dfah_cli.integrations.seam import Prices
from dfah_cli.records import fields
from dfah_cli.records.case import Case
from dfah_cli.records.suite import Suite

KINDS = {
    "openai": "dfah_cli.integrations.kinds.openai_sdk",
    "anthropic": "dfah_cli.integrations.kinds.anthropic_sdk",
    "langgraph": "dfah_cli.integrations.kinds.langgraph_graph",
    "pydantic-ai": "dfah_cli.integrations.kinds.pydantic_ai_agent",
    "openai-agents": "dfah_cli.integrations.kinds.openai_agents_sdk",
    "http": "dfah_cli.integrations.kinds.http_endpoint",
    "process": "dfah_cli.integrations.kinds.json_lines_process",
}
APIS = ("chat", "responses", "messages")
# Keys that change how a request travels, not what is asked: no part of the experiment's identity.
OPERATIONAL = ("api_key_env", "max_retries", "requests_per_minute", "request_timeout_s", "prices", "tools")
CLOSING = """End with exactly one line
DECISION: LABEL
where LABEL is one of: $labels."""
DEFAULT_PROMPT = f"Decide the case you are given. Use the tools where they help.\n{CLOSING}"


def _prices(value: Any) -> Any:
    return Prices(**value) if type(value) is dict else value


@frozen(kw_only=True)
class Declaration:
    """One declared adapter.

    model: of the provider; for `http` and `process`, the name the manifest gives to what is behind them.
    api: chat, responses (OpenAI) or messages (Anthropic); None for the kind's own.
    prompt: file with the instructions, relative to the current directory; `$labels` in it stands for the labels.
    tools: reference `pkg.module:name` to a ToolRegistry or to functions by name, or `{mcp: ...}`; None without tools.
    parameters: sent with every request under these very names.
    api_key_env: name of the environment variable that has the key. base_url: None for the provider's own.
    prices: US dollars for a million tokens. max_turns: answers of the provider in one episode at most.
    request_timeout_s: of one request. requests_per_minute: of all episodes together; None for no limit.
    url, command: for `http` and `process`.
    """

    kind: str = field(validator=fields.one_of(*KINDS))
    model: str = field(validator=fields.public_name)
    provider: str | None = field(default=None, validator=fields.optional(fields.public_name))
    api: str | None = field(default=None, validator=fields.optional(fields.one_of(*APIS)))
    prompt: str | None = field(default=None, validator=fields.optional(fields.name))
    tools: Any = field(default=None)
    parameters: dict[str, Any] = field(factory=dict, converter=fields.to_json, validator=fields.public_json_map)
    base_url: str | None = field(default=None, validator=fields.optional(fields.public_name))
    api_key_env: str | None = field(default=None, validator=fields.optional(fields.name))
    stream: bool = field(default=False, validator=fields.flag)
    max_turns: int = field(default=20, validator=fields.integer(1, 1000))
    max_retries: int = field(default=2, validator=fields.integer(0, 100))
    request_timeout_s: float = field(
        default=600.0, converter=fields.to_float, validator=fields.real(0.0, 86_400.0, above=True)
    )
    requests_per_minute: float | None = field(
        default=None, converter=fields.to_float, validator=fields.optional(fields.real(0.0, 1e9, above=True))
    )
    prices: Prices = field(factory=Prices, converter=_prices, validator=fields.instance_of(Prices))
    url: str | None = field(default=None, validator=fields.optional(fields.public_name))
    command: tuple[str, ...] = field(
        default=(), converter=fields.to_tuple, validator=fields.tuple_of(fields.public_name)
    )

    @property
    def identity(self) -> dict[str, Any]:
        """What of the declaration is part of the experiment, as JSON."""
        import attrs

        whole = attrs.asdict(self, filter=lambda attribute, _: attribute.name not in OPERATIONAL)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in whole.items()}


@frozen(kw_only=True)
class Setting:
    """What a kind of adapter is made from. prompt: the instructions, filled in."""

    declaration: Declaration
    suite: Suite
    prompt: str


def prompt_of(declaration: Declaration, suite: Suite) -> str:
    """The instructions for a suite, which always say how the decision is to be written.

    Raises: ConfigurationError when the file cannot be read.
    """
    text = DEFAULT_PROMPT
    if declaration.prompt is not None:
        try:
            text = Path(declaration.prompt).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as problem:
            raise ConfigurationError(
                f"adapter.prompt: {declaration.prompt} cannot be read ({type(problem).__name__}); expected a UTF-8 file"
            ) from None
        if "DECISION:" not in text:
            text = f"{text.rstrip()}\n\n{CLOSING}"
    return Template(text).safe_substitute(labels=", ".join(label.upper() for label in suite.ontology))


def user_text(case: Case) -> str:
    """The case as the user's message: text as it is, anything else as JSON with sorted keys."""
    return case.input if isinstance(case.input, str) else canonical_bytes(case.input).decode("utf-8")
