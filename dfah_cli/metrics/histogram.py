"""How often values of each size occur, in bins that are the same for every run. Pure.

The edges are 0, 1, 2, 5, 10, 20, 50, … : equal steps on a logarithmic axis, so times from microseconds to minutes fit
into one picture, and two runs can be laid on each other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from attrs import define, field, frozen

STEPS = (1, 2, 5)


def bin_of(value: int) -> tuple[int, int]:
    """(low, high) of the bin with low <= value < high; value: at least 0."""
    if value < 1:
        return 0, 1
    decade = 10 ** (len(str(value)) - 1)
    low = next(step * decade for step in reversed(STEPS) if step * decade <= value)
    return low, low * 2 if str(low)[0] != "2" else low // 2 * 5


@frozen(kw_only=True)
class Bin:
    """Values from low up to, and without, high."""

    low: int
    high: int
    count: int


@frozen(kw_only=True)
class Histogram:
    """bins: in order, from the first to the last that is not empty, empty ones between them included.

    half_below, most_below: high edge of the bin that at least half, and 95 %, of the values do not pass.
    """

    count: int
    least: int
    largest: int
    total: int
    half_below: int
    most_below: int
    bins: tuple[Bin, ...]


@define
class Counting:
    """Counts values as they come; memory grows with the number of bins only."""

    count: int = 0
    total: int = 0
    least: int = 0
    largest: int = 0
    _counts: dict[tuple[int, int], int] = field(factory=dict)

    def add(self, value: int) -> None:
        """One more value of at least 0."""
        self.least = value if not self.count else min(self.least, value)
        self.largest = max(self.largest, value)
        self.count, self.total = self.count + 1, self.total + value
        place = bin_of(value)
        self._counts[place] = self._counts.get(place, 0) + 1

    def histogram(self) -> Histogram | None:
        """What was counted; None when nothing was."""
        if not self.count:
            return None
        bins = tuple(Bin(low=low, high=high, count=self._counts.get((low, high), 0)) for low, high in self._places())
        return Histogram(
            count=self.count,
            least=self.least,
            largest=self.largest,
            total=self.total,
            half_below=self._below(bins, 50),
            most_below=self._below(bins, 95),
            bins=bins,
        )

    def _places(self) -> Iterator[tuple[int, int]]:
        low, high = min(self._counts)
        last = max(self._counts)
        while (low, high) <= last:
            yield low, high
            low, high = bin_of(high)

    def _below(self, bins: tuple[Bin, ...], percent: int) -> int:
        seen = 0
        for one in bins:
            seen += one.count
            if 100 * seen >= percent * self.count:
                return one.high
        return bins[-1].high


def histogram(values: Iterable[int]) -> Histogram | None:
    """The histogram of whole numbers of at least 0; None without any."""
    counting = Counting()
    for value in values:
        counting.add(value)
    return counting.histogram()
