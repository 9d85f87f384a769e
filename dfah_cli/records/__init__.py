"""Frozen facts. No I/O, no clock, no randomness."""
