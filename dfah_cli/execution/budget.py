"""Money admitted before a call, settled after it. All amounts in nano-dollars."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import define

from dfah_cli.records.episode import UNMETERED


@define
class Budget:
    """Admits an episode only while spent, reserved and its own reservation stay within the limit.

    limit_nusd: None means no limit. estimate_nusd: what the caller expects an episode to cost at most.
    The reservation grows to the dearest episode seen, so that a low estimate cannot overspend again and again.
    """

    limit_nusd: int | None = None
    estimate_nusd: int = 0
    spent_nusd: int = 0
    reserved_nusd: int = 0
    dearest_nusd: int = 0

    @property
    def reservation_nusd(self) -> int:
        """What one more episode would reserve."""
        return 0 if self.limit_nusd is None else max(self.estimate_nusd, self.dearest_nusd)

    def admits(self) -> bool:
        """Whether one more episode fits."""
        if self.limit_nusd is None:
            return True
        return self.spent_nusd + self.reserved_nusd + self.reservation_nusd <= self.limit_nusd

    def reserve(self) -> int:
        """Holds back one reservation and returns it; `admits` must have said yes."""
        amount = self.reservation_nusd
        self.reserved_nusd += amount
        return amount

    def settle(self, reserved_nusd: int, cost_nusd: int) -> None:
        """Replaces a reservation by the real cost."""
        self.reserved_nusd -= reserved_nusd
        self.spent_nusd += cost_nusd
        self.dearest_nusd = max(self.dearest_nusd, cost_nusd)

    @property
    def exceeded(self) -> bool:
        """Whether more was spent than the limit allows."""
        return self.limit_nusd is not None and self.spent_nusd > self.limit_nusd


def taken_nusd(reserved_nusd: int, cost_nusd: int, told: Mapping[str, Any] | None, *, has_result: bool) -> int:
    """What an ended episode takes from the budget.

    told: the `provider_usage` it told without a result; None when it told nothing. Its cost counts where it is known
    whole; a request whose answer told no usage may have cost anything, so then the reservation counts.
    """
    known = has_result or (told is not None and not told.get(UNMETERED))
    return cost_nusd if known else max(reserved_nusd, cost_nusd)
