"""The two provider SDKs that adapters are built on: their clients and their keys."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from dfah_cli.integrations.declaration import Setting
from dfah_cli.integrations.resources import PerLoop, api_key, optional
from dfah_cli.integrations.wire.tap import watch


@frozen
class Sdk:
    """An SDK, and the extra that brings it. client: its asynchronous class; key: the variable its key is in."""

    package: str
    client: str
    key: str

    def key_of(self, setting: Setting) -> str:
        """The key for the provider.

        Raises: ConfigurationError naming the variable that is not set.
        """
        return api_key(setting.declaration.api_key_env or self.key, setting.declaration.base_url)

    def client_of(self, setting: Setting) -> PerLoop[Any]:
        """A watched asynchronous client for each loop.

        Raises: OptionalDependencyError.
        """
        make, declared = getattr(optional(self.package, extra=self.package), self.client), setting.declaration

        def opened() -> Any:
            return watch(
                make(
                    api_key=self.key_of(setting),
                    base_url=declared.base_url,
                    max_retries=declared.max_retries,
                    timeout=declared.request_timeout_s,
                )
            )

        return PerLoop(opened, lambda client: client.close())


OPENAI = Sdk("openai", "AsyncOpenAI", "OPENAI_API_KEY")
ANTHROPIC = Sdk("anthropic", "AsyncAnthropic", "ANTHROPIC_API_KEY")
