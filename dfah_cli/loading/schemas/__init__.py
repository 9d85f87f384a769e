"""The published schemas of every file kind, one JSON file each."""
