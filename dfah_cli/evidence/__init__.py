"""May we believe what is on disk? Pure."""
