"""`dfah demo-provider` as its user sees it."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.command import DFAH, dfah, environment


@pytest.fixture
def provider(here: Path) -> Iterator[subprocess.Popen[str]]:
    """A running provider on a free port, with every answer flipped."""
    process = subprocess.Popen(
        [*DFAH, "demo-provider", "--port", "0", "--flip-rate", "1", "--labels", "approve,reject"],
        cwd=here,
        env=environment(),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(address: str, **body: Any) -> Any:
    request = urllib.request.Request(
        f"{address}/chat/completions", data=json.dumps(body).encode(), headers={"content-type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=20) as response:
        return json.load(response)


def test_it_tells_its_address_answers_and_ends_with_an_interruption(provider: subprocess.Popen[str]) -> None:
    assert provider.stdout is not None
    address = provider.stdout.readline().rpartition(" ")[2].strip()
    assert provider.stdout.readline().startswith("Anthropic base URL: http://127.0.0.1:")
    answer = ask(address, model="m", messages=[{"role": "user", "content": "hello"}])
    assert answer["choices"][0]["message"]["content"].splitlines()[-1] in ("DECISION: APPROVE", "DECISION: REJECT")
    provider.send_signal(signal.SIGINT)
    assert provider.wait(timeout=60) == 0


def test_a_rate_beyond_one_is_a_wrong_request(here: Path) -> None:
    done = dfah("demo-provider", "--flip-rate", "2", cwd=here)
    assert done.returncode == 2
    assert "--flip-rate" in done.stderr


def test_a_port_in_use_is_told_in_one_line(here: Path, provider: subprocess.Popen[str]) -> None:
    assert provider.stdout is not None
    port = provider.stdout.readline().strip().removesuffix("/v1").rpartition(":")[2]
    done = dfah("demo-provider", "--port", port, cwd=here)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
