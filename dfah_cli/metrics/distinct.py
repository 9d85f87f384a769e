"""Distinct values without numpy's masked arrays, whose import would take longer than most measurements. Pure."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray


def distinct(values: NDArray[Any]) -> list[int]:
    """The distinct integers of an array, in ascending order."""
    return sorted(set(values.tolist()))
