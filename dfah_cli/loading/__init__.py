"""Strict YAML and JSON, schemas, and where packaged data lies."""
