"""Exactly one line `DECISION: LABEL`; nothing is guessed."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dfah_cli.parsing import parse_decision

LABELS = ("escalate", "dismiss", "s_2")


@pytest.mark.parametrize(
    "text",
    [
        "DECISION: ESCALATE",
        "decision: escalate",
        "Decision:Escalate",
        "  \tDECISION \t:\t ESCALATE \t",
        "words before\n\nDECISION: ESCALATE\nwords after",
        "DECISION: ESCALATE\r\n",
        "DECISION: ESCALATE\r",
        "no decision: here\nDECISION: ESCALATE",
        "I said DECISION: DISMISS in passing\nDECISION: ESCALATE",
        "DECISION ESCALATE\nDECISION: ESCALATE",
        "DECISIONS: DISMISS\nDECISION: ESCALATE",
    ],
)
def test_one_marker_line_is_the_decision(text: str) -> None:
    parsed = parse_decision(text, LABELS)
    assert parsed.decision is not None
    assert (parsed.decision.label, parsed.decision.confidence) == ("escalate", 1.0)
    found = parsed.provenance
    assert (found.strategy, found.raw_span, found.accepted) == ("strict_marker", "DECISION: ESCALATE", True)
    assert (found.fallback, found.confidence, found.reason) == (False, 1.0, None)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no_marker"),
        ("ESCALATE", "no_marker"),
        ("escalate.", "no_marker"),
        ("The decision is ESCALATE", "no_marker"),
        ("**DECISION: ESCALATE**", "no_marker"),
        ("> DECISION: ESCALATE", "no_marker"),
        ("- DECISION: ESCALATE", "no_marker"),
        ("\ufeffDECISION: ESCALATE", "no_marker"),
        ("\u00a0DECISION: ESCALATE", "no_marker"),
        ("x\rDECISION: ESCALATE", "no_marker"),
        ("x\u2028DECISION: ESCALATE", "no_marker"),
        ("x\x0bDECISION: ESCALATE", "no_marker"),
        ("DECISION\n: ESCALATE", "no_marker"),
        ("DECI\u017fION: ESCALATE", "no_marker"),
        ("ＤＥＣＩＳＩＯＮ: ESCALATE", "no_marker"),
        ("DECISION: ESCALATE\nDECISION: ESCALATE", "several_markers"),
        ("DECISION: ESCALATE\nDECISION: DISMISS", "several_markers"),
        ("DECISION: ESCALATE\nDECISION: because of x", "several_markers"),
        ("DECISION: ESCALATE\n decision :", "several_markers"),
        ("DECISION: maybe", "unknown_label"),
        ("DECISION:", "unknown_label"),
        ("DECISION:\nESCALATE", "unknown_label"),
        ("DECISION: ESCALATE.", "unknown_label"),
        ("DECISION: ESCALATE!", "unknown_label"),
        ("DECISION: ESCALATE?", "unknown_label"),
        ('DECISION: "ESCALATE"', "unknown_label"),
        ("DECISION: ESCALATE or DISMISS", "unknown_label"),
        ("DECISION: ESCALATE\rDECISION: DISMISS", "unknown_label"),
        ("DECISION: ESCALATE\r\r", "unknown_label"),
        ("DECISION: ESCALATE\r ", "unknown_label"),
        ("DECISION: ESCALATE\u00a0", "unknown_label"),
        ("DECISION: ESCALATE\u2028", "unknown_label"),
        ("DECISION: ＥＳＣＡＬＡＴＥ", "unknown_label"),
        ("DECISION: \u017f_2", "unknown_label"),
        ("DECISION: ESCALATE\x00", "unknown_label"),
    ],
)
def test_everything_else_is_rejected_with_its_reason(text: str, reason: str) -> None:
    parsed = parse_decision(text, LABELS)
    assert parsed.decision is None
    found = parsed.provenance
    assert (found.strategy, found.reason, found.accepted) == ("none", reason, False)
    assert (found.raw_span, found.fallback, found.confidence) == (None, False, None)


def test_the_kelvin_sign_is_no_letter_k() -> None:
    assert parse_decision("DECISION: \u212a", ("k", "x")).decision is None


def is_marker(line: str) -> bool:
    words = line.lstrip(" \t")
    return words[:8].upper() == "DECISION" and words[8:].lstrip(" \t").startswith(":")


@given(
    st.lists(st.sampled_from(["DECISION: dismiss", "DECISION", " decision :", "ESCALATE", "\r", "\t", "x", "\n", ": "]))
)
def test_a_decision_needs_one_marker_line_and_a_label_behind_it(pieces: list[str]) -> None:
    text = "".join(pieces)
    markers = [line for line in text.split("\n") if is_marker(line)]
    label = markers[0].partition(":")[2].removesuffix("\r").strip(" \t").lower() if len(markers) == 1 else None
    decision = parse_decision(text, LABELS).decision
    assert (decision.label if decision else None) == (label if label in LABELS else None)


@pytest.mark.parametrize("piece", [" ", "\t", "DECISION", "DECISION ", "DECISION:", "\n", " \n", "DECISION: x\n", ": "])
def test_the_time_is_linear_in_the_output(piece: str) -> None:
    text = piece * (2_000_000 // len(piece))
    started = time.process_time()
    parse_decision(text, LABELS)
    assert time.process_time() - started < 2.0
