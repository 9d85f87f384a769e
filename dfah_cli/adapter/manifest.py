"""The manifest of an adapter for one suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dfah_cli.adapter.git import git_state
from dfah_cli.errors import ConfigurationError
from dfah_cli.records.manifest import Manifest
from dfah_cli.records.suite import Suite
from dfah_cli.version import __version__


def build_manifest(
    suite: Suite,
    *,
    provider: str,
    model: str,
    adapter: str,
    request_parameters: Mapping[str, Any],
    endpoint: str | None = None,
    adapter_version: str | None = None,
    library_version: str | None = None,
    git_sha: str | None = None,
    implementation_hash: str | None = None,
    capture_raw_content: bool = False,
) -> Manifest:
    """The pinned request contract of an adapter on a suite.

    git_sha: by default the clean HEAD of the current directory, but only where no `implementation_hash` names the code:
    an unrelated commit must not make a new experiment.
    Raises: ConfigurationError when nothing names the code; ValidationError naming an invalid field.
    """
    for given, kind, name in ((suite, Suite, "suite"), (request_parameters, Mapping, "request_parameters")):
        if not isinstance(given, kind):
            found = type(given).__name__
            raise ConfigurationError(f"build_manifest: found {name} of type {found}; expected a {kind.__name__}")
    if git_sha is None and implementation_hash is None:
        git_sha = _clean_head()
    return Manifest(
        suite_id=suite.suite_id,
        suite_version=suite.suite_version,
        decision_ontology=suite.ontology,
        provider=provider,
        model=model,
        endpoint=endpoint,
        temperature=request_parameters.get("temperature"),
        top_p=request_parameters.get("top_p"),
        seed=request_parameters.get("seed"),
        tool_schema_hash=suite.tool_schema_hash,
        fixture_hash=suite.fixture_hash,
        request_parameters=dict(request_parameters),
        adapter=adapter,
        adapter_version=adapter_version,
        library_version=__version__ if library_version is None else library_version,
        git_sha=git_sha,
        implementation_hash=implementation_hash,
        capture_raw_content=capture_raw_content,
    )


def _clean_head() -> str:
    state = git_state()
    problem = (
        "the current directory has no git commit"
        if state.sha is None
        else "git could not say in time whether the working tree is clean"
        if state.dirty is None
        else "the working tree differs from its commit"
    )
    if state.sha is None or state.dirty is not False:
        raise ConfigurationError(
            f"build_manifest: {problem}, so nothing names the adapter's code; pass "
            "implementation_hash=hashlib.sha256(Path(__file__).read_bytes()).hexdigest(), pass git_sha=..., or commit"
        )
    return state.sha
