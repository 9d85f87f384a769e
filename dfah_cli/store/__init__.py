"""Where a run is recorded: an append-only log of content-addressed records, its lease, its readers.

`protocol` says what every store promises, `log` is the local one, `memory` the one for tests.
"""
