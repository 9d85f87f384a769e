"""An object storage in memory behind every `s3://` URL of a test."""

from __future__ import annotations

from collections import defaultdict

import pytest

from dfah_cli.store import opening, places
from dfah_cli.store.bucket import Bucket
from dfah_cli.store.places import SCHEME, RunUrl
from dfah_cli.workflow import copying, listing


def object_storage(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on URLs lead to memory that keeps conditional writes."""
    from obstore.store import MemoryStore

    stores: dict[str, MemoryStore] = defaultdict(MemoryStore)

    def bucket_of(place: RunUrl) -> Bucket:
        name, _, prefix = place.text.removeprefix(SCHEME).partition("/")
        return Bucket(stores[name], prefix, place.text, pause_s=0.0)

    for module in (opening, places, copying, listing):
        monkeypatch.setattr(module, "bucket_of", bucket_of)
