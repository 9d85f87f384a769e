"""A comparison of two runs for people at a terminal: the finding, the numbers of both, the change case by case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from dfah_cli.render.text import escape
from dfah_cli.report import words
from dfah_cli.report.against_view import NAMES, alarm_sentences, drift_rows, finding_sentence, flags_sentence

if TYPE_CHECKING:
    from dfah_cli.cli.screen import Screen
    from dfah_cli.metrics.versus import Difference
    from dfah_cli.workflow.comparison import Answer

PAIRED = {
    "dar": "DAR",
    "tar.seq": "TAR.seq",
    "gap": "gap",
    "tar.strong": "TAR.strong",
    "flags": "flags / 100",
    "sequence_flags": "sequence flags / 100",
}


def show_comparison(answer: Answer, screen: Screen, confidence: float) -> None:
    """The comparison on a terminal; tables that have no row are left out. confidence: of the intervals."""
    found = answer.found
    screen.prose(finding_sentence(found))
    screen.line()
    if answer.difference:
        screen.table(("", "base", "candidate", "change"), list(_numbers(answer)))
        screen.line()
    columns = ("case by case", "change", f"{confidence * 100:g} % interval", "rose", "same", "fell")
    screen.table(columns, [_paired(one) for one in found.differences])
    screen.line()
    moved = [(row.level, row.mean, row.p, row.reading) for row in drift_rows(found.drift)]
    screen.table(("drift", "mean", "exact test", "so that"), moved)
    screen.prose(*alarm_sentences(found))
    if found.flips:
        screen.line()
        flips = [(f.case_id, " or ".join(f.old), " or ".join(f.new), words.share(float(f.drift))) for f in found.flips]
        screen.table(("decision changed", "base", "candidate", "drift"), flips)
    screen.line()
    screen.prose(*_remarks(answer))
    show_verdict(answer, screen)


def _numbers(answer: Answer) -> Iterator[tuple[str, ...]]:
    now = answer.candidate
    tar = None if now.tar is None else now.tar.seq
    after = {"dar": now.dar, "tar_seq": tar, "gap": now.gap, "flags_per_100_cases": now.flags_per_100_cases}
    for name, change in answer.difference.items():
        spell = words.rate if name == "flags_per_100_cases" else words.share
        yield NAMES[name], spell(answer.base.metrics[name]), spell(after[name]), words.signed(spell(change))


def _paired(one: Difference) -> tuple[str, ...]:
    per_100 = one.metric in ("flags", "sequence_flags")

    def spell(value: float) -> str:
        return words.signed(words.rate(100 * value) if per_100 else words.share(value))

    limits = words.interval(spell(one.interval.low), spell(one.interval.high))
    counts = (str(number) for number in (one.rose, one.same, one.fell))
    return PAIRED.get(one.metric, one.metric), spell(one.interval.value), limits, *counts


def _remarks(answer: Answer) -> Iterator[str]:
    found = answer.found
    cases, replays = len(found.pairing.cases), found.pairing.replays
    yield f"{words.count(cases, 'case')} eligible in both, {replays} replays each"
    if flags := flags_sentence(found):
        yield flags
    for told, keys in (("newly flagged", found.newly_flagged), ("no longer flagged", found.no_longer_flagged)):
        if keys:
            yield f"{told}: {words.listed([escape(key.case_id) for key in keys])}"
    if found.pairing.rarefied:
        yield f"The runs have unequal replays: both are seen at {replays}, and flags are chances."
    if answer.base.commitment == answer.candidate.commitment:
        yield "Both are the same evidence."


def show_verdict(answer: Answer, screen: Screen) -> None:
    """The checks against the margins and what they come to; nothing without a margin."""
    if answer.verdict is None:
        return
    rows = [
        (c.name, str(c.verdict), f"{c.observed:.4g}", f"{c.expected:.4g}", "" if c.bound is None else f"{c.bound:.4g}",
         "" if c.cases_needed is None else str(c.cases_needed))
        for c in answer.checks
    ]  # fmt: skip
    if screen.tables:
        screen.line()
    needed = "cases needed" if screen.tables else "needed"
    screen.table(("check", "verdict", "observed", "margin", "bound", needed), rows)
    if screen.tables:
        screen.line()
    screen.fact(verdict=str(answer.verdict), exit=int(answer.code))
