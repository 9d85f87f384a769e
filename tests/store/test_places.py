"""What the environment says of an object storage is looked at before anything is asked of it."""

from __future__ import annotations

import pytest

from dfah_cli.errors import ConfigurationError
from dfah_cli.store.places import RunUrl, bucket_of

pytest.importorskip("obstore", reason="no obstore; run: python -m pip install 'dfah-cli[s3]'")


@pytest.mark.parametrize("name", ["AWS_ENDPOINT_URL", "AWS_ENDPOINT", "AWS_ENDPOINT_URL_S3"])
@pytest.mark.parametrize(
    "value",
    [
        "",
        "nonsense",
        "127.0.0.1:8333",
        "ftp://host",
        "http://",
        "http://a:99999999",
        "http://[x",
        "http://a b",
        "http://a\n",
    ],
)
def test_an_endpoint_that_is_no_address_is_refused_and_not_shown(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=f"{name}: found no address; expected http://") as caught:
        bucket_of(RunUrl("s3://runs/first"))
    assert value == "" or f"found {value}" not in str(caught.value)


@pytest.mark.parametrize("value", ["http://127.0.0.1:8333", "https://[::1]:1/base", "https://storage.example"])
def test_an_address_is_taken(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", value)
    bucket_of(RunUrl("s3://runs/first"))


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SESSION_TOKEN", "AWS_REGION"])
def test_a_line_end_behind_a_credential_is_refused_and_the_credential_not_shown(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv(name, "planted\n")
    with pytest.raises(ConfigurationError, match=f"{name}: found a line end") as caught:
        bucket_of(RunUrl("s3://runs/first"))
    assert "planted" not in str(caught.value)


def test_plain_http_to_another_machine_is_refused_unless_it_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.delenv("AWS_ALLOW_HTTP", raising=False)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "HTTP://storage.example")
    with pytest.raises(ConfigurationError, match=r"AWS_ENDPOINT_URL: found plain http.*AWS_ALLOW_HTTP=true"):
        bucket_of(RunUrl("s3://runs/first"))
    monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
    bucket_of(RunUrl("s3://runs/first"))
