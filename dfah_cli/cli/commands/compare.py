"""`dfah compare`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from dfah_cli.cli.options import COMMON, Number, option, stacked
from dfah_cli.cli.screen import Screen

if TYPE_CHECKING:
    from dfah_cli.workflow.comparison import Answer, Question

SHARE = Number(0, 1)


@click.command(name="compare")
@click.argument("base", metavar="BASE")
@click.argument("candidate", metavar="CANDIDATE")
@stacked(
    option("--margin-dar", type=SHARE, default=None, help="Largest tolerated loss of DAR, such as 0.05."),
    option("--margin-tar", type=SHARE, default=None, help="Largest tolerated loss of TAR.seq."),
    option("--margin-flags", type=Number(0, 100), default=None, help="Tolerated rise of flags per 100."),
    option("--confidence", type=Number(0.5, 0.999999), default=0.95, show_default=True, help="Of bounds."),
    option("--rarefy", is_flag=True, help="Compare unequal replays at the smaller number."),
    option("--aa", "same_agent", is_flag=True, help="Both are runs of one agent: every alarm is a false one."),
    option("--allow-cross-manifest", is_flag=True, help="The runs may be of two different agents."),
    option("--allow-cross-version", is_flag=True, help="The runs may be of two suite versions."),
    option("--allow-cross-tools", is_flag=True, help="Tool results may come from different places."),
    option("--allow-partial", is_flag=True, help="The runs may be incomplete."),
    COMMON,
)
def command(base: str, candidate: str, as_json: bool, **asked: Any) -> int:
    """What changed between a base and a run of the same suite: numbers, drift, the cases that flipped.

    BASE is a run directory or a file of `dfah baseline accept`. With a margin, exits 0 when the candidate is proven
    not worse by it, 1 when it is proven worse, 4 when the data do not decide.

    \b
    dfah compare .dfah/runs/base .dfah/runs/candidate --allow-cross-manifest
    dfah compare baseline.json .dfah/runs/candidate --margin-dar 0.05 --margin-flags 5
    """
    from dfah_cli.cli.edge import replaced
    from dfah_cli.workflow.comparison import compare, document

    answer = compare(base, candidate, _question(**asked))
    screen = Screen(as_json=as_json)
    if screen.json:
        screen.document(document(answer))
    elif screen.tables:
        from dfah_cli.cli.comparison import show_comparison

        show_comparison(answer, screen, asked["confidence"])
    else:
        _show(answer, screen)
    screen.flush()
    return replaced(answer.code)


def _question(
    *, margin_dar: float | None, margin_tar: float | None, margin_flags: float | None, **rest: Any
) -> Question:
    from dfah_cli.report.compare import Allowances
    from dfah_cli.workflow.comparison import Question

    flags = None if margin_flags is None else margin_flags / 100
    margins = {"dar": margin_dar, "tar.seq": margin_tar, "flags": flags}
    allowed = Allowances(
        cross_manifest=rest["allow_cross_manifest"],
        cross_version=rest["allow_cross_version"],
        cross_tools=rest["allow_cross_tools"],
        partial=rest["allow_partial"],
    )
    return Question(
        margins={name: margin for name, margin in margins.items() if margin is not None},
        confidence=rest["confidence"],
        rarefy=rest["rarefy"],
        same_agent=rest["same_agent"],
        allowed=allowed,
    )


def _show(answer: Answer, screen: Screen) -> None:
    from dfah_cli.cli.comparison import show_verdict

    found = answer.found
    if answer.difference:
        now = answer.candidate
        after = {"dar": now.dar, "tar_seq": now.tar and now.tar.seq, "gap": now.gap,
                 "flags_per_100_cases": now.flags_per_100_cases}  # fmt: skip
        screen.table(
            ("metric", "base", "candidate", "change"),
            [
                (k, f"{answer.base.metrics[k]:.3f}", f"{after[k]:.3f}", f"{d:+.3f}")
                for k, d in answer.difference.items()
            ],
        )
    screen.table(
        ("paired", "change", "low", "high", "rose", "same", "fell"),
        [
            (one.metric, f"{one.interval.value:+.3f}", f"{one.interval.low:+.3f}", f"{one.interval.high:+.3f}",
             str(one.rose), str(one.same), str(one.fell))
            for one in found.differences
        ],
    )  # fmt: skip
    screen.table(
        ("drift", "mean", "p"), [(level, f"{float(t.mean):.3f}", f"{t.p:.4f}") for level, t in found.drift.items()]
    )
    alarms = [a for a in found.alarms if a.p_holm < 0.05]
    screen.table(("alarm", "task", "p_holm"), [(a.metric, a.task, f"{a.p_holm:.4f}") for a in alarms])
    flips = [(f.case_id, " | ".join(f.old), " | ".join(f.new), f"{float(f.drift):.3f}") for f in found.flips]
    screen.table(("flipped_case", "base", "candidate", "drift"), flips)
    screen.fact(
        cases=len(found.pairing.cases),
        replays=found.pairing.replays,
        rarefied=str(found.pairing.rarefied).lower(),
        flipped_cases=len(flips),
        newly_flagged=len(found.newly_flagged),
        no_longer_flagged=len(found.no_longer_flagged),
        **({} if found.flags_p is None else {"flags_p": f"{found.flags_p:.4f}"}),
    )
    if answer.base.commitment == answer.candidate.commitment:
        screen.fact(note="both are the same evidence")
    show_verdict(answer, screen)
