"""Replays recorded elsewhere, brought into one shape. Nothing here runs an agent."""
