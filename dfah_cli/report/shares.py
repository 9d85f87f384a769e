"""Exact shares as a report has them: floats, rounded once. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dfah_cli.records.enums import PathMode
from dfah_cli.report.cases import ExactShares, TARReport

Shares = Mapping[PathMode, Fraction | None]


def rounded(share: Fraction | None) -> float | None:
    """The nearest float; None stays None."""
    return None if share is None else float(share)


def tar_report(shares: Shares) -> TARReport | None:
    """All levels; None when no group is eligible."""
    tree, bag, seq = shares[PathMode.SET], shares[PathMode.BAG], shares[PathMode.SEQ]
    if tree is None or bag is None or seq is None:
        return None
    return TARReport(
        set=float(tree),
        bag=float(bag),
        seq=float(seq),
        args=rounded(shares[PathMode.ARGS]),
        strong=rounded(shares[PathMode.STRONG]),
    )


def exact_shares(dar: Fraction | None, tar_seq: Fraction | None) -> ExactShares:
    """Both shares as text, unrounded."""
    return ExactShares(dar=None if dar is None else str(dar), tar_seq=None if tar_seq is None else str(tar_seq))
