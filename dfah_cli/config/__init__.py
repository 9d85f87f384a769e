"""Hydra composes; we freeze."""
