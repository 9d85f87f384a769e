"""Where episodes run."""
