"""The append-only evidence log and its one writer."""
