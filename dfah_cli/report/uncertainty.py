"""The intervals of a report, rounded outward so that every machine states the same digits. Pure."""

from __future__ import annotations

import math

from dfah_cli.metrics.intervals import Interval
from dfah_cli.metrics.measure import RunMeasurement
from dfah_cli.metrics.uncertainty import Confidence, run_intervals
from dfah_cli.report.cases import MetricInterval

DIGITS = 10_000


def metric_intervals(measurement: RunMeasurement, labels: int) -> tuple[MetricInterval, ...]:
    """One interval for each number that is available, sorted by name; labels: size of the decision ontology."""
    found = run_intervals(measurement, Confidence(labels=labels))
    return tuple(_stated(name, interval) for name, interval in sorted(found.items()))


def _stated(name: str, interval: Interval) -> MetricInterval:
    return MetricInterval(
        metric=name,
        low=math.floor(interval.low * DIGITS) / DIGITS,
        high=math.ceil(interval.high * DIGITS) / DIGITS,
        level=interval.level,
        method=str(interval.method),
        n=interval.cases,
        low_support=interval.low_support,
        scope=str(interval.scope),
    )
