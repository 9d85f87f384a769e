"""What will be run, and in which order. Pure."""
