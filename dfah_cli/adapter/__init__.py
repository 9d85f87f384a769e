"""What connects a user's agent and tools to the harness."""
