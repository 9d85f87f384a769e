from dfah_cli.render.html import overview_html
from dfah_cli.report.overview import drift, overview
from tests.report.build import FLAGS, FLIPPED, STABLE, a_report

OLD = a_report(FLAGS, last_at="2026-01-01T00:00:00.000000Z")
NEW = a_report(FLAGS, last_at="2026-02-01T00:00:00.000000Z", model="model-v2")
FIVE = a_report({("t", "A"): [("escalate", "T")] * 5}, replays=5, last_at="2026-03-01T00:00:00.000000Z")
EMPTY = a_report({("t", "A"): STABLE}, status={("A", 0): "refusal"}, last_at=None)


def test_runs_stand_in_the_order_of_their_last_episode() -> None:
    found = overview([("new", NEW, None), ("empty", EMPTY, None), ("old", OLD, "fail")])
    assert [row.label for row in found.rows] == ["old", "new", "empty"]
    assert [row.gate for row in found.rows] == ["fail", None, None]


def test_what_must_not_be_compared_is_said() -> None:
    assert overview([("a", OLD, None), ("b", OLD, None)]).remarks == ()
    assert any("different manifests" in remark for remark in overview([("a", OLD, None), ("b", NEW, None)]).remarks)
    assert any("numbers of replays" in remark for remark in overview([("a", OLD, None), ("b", FIVE, None)]).remarks)


def test_the_page_has_every_run_no_script_and_harmless_labels() -> None:
    runs = [("<script>x</script>\u202e", OLD, "fail"), ("new", NEW, "pass"), ("empty", EMPTY, None)]
    page = overview_html(overview(runs))
    assert "<script" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;x&lt;/script&gt;\\u202e" in page
    assert page.count("<tr>") == 4
    assert "—" in page


STEADY = a_report({("t", f"C{i}"): STABLE for i in range(40)}, last_at="2026-01-01T00:00:00.000000Z")
SHAKEN = a_report({("t", f"C{i}"): FLIPPED for i in range(40)}, last_at="2026-02-01T00:00:00.000000Z")


def test_a_number_that_moved_beyond_both_intervals_is_named_as_drift() -> None:
    rows = overview([("after", SHAKEN, None), ("before", STEADY, None)]).rows
    assert [row.drift for row in rows] == ["—", "DAR down, gap down"]
    assert drift(SHAKEN, STEADY) == "DAR up, gap up"


def test_runs_that_cannot_be_compared_have_no_drift() -> None:
    assert drift(STEADY, STEADY) == "within the intervals"
    assert [row.drift for row in overview([("a", OLD, None), ("five", FIVE, None), ("empty", EMPTY, None)]).rows] == [
        "—"
    ] * 3
