"""The user's agent and tools, held to their contract."""
