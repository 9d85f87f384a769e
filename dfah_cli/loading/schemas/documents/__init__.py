"""The published schemas of what commands print with --json, one file a format, named after it."""
