from attrs import evolve

from dfah_cli.render.html import overview_html
from dfah_cli.report.overview import drift, overview
from tests.report.build import FLAGS, FLIPPED, STABLE, Groups, a_report
from tests.report.test_against import held, pinned

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


FORTY: Groups = {("t", f"C{i}"): STABLE for i in range(40)}
SHAKEN_FORTY: Groups = dict.fromkeys(FORTY, FLIPPED)
STEADY = a_report(FORTY, last_at="2026-01-01T00:00:00.000000Z")
SHAKEN = a_report(SHAKEN_FORTY, last_at="2026-02-01T00:00:00.000000Z")


def test_a_number_that_moved_beyond_both_intervals_is_named_as_drift() -> None:
    rows = overview([("after", SHAKEN, None), ("before", STEADY, None)]).rows
    assert [row.drift for row in rows] == ["—", "DAR down, gap down"]
    assert drift(SHAKEN, STEADY) == "DAR up, gap up"


def test_each_run_has_its_change_from_the_baseline_in_one_row() -> None:
    other = evolve(pinned(FORTY), fixture_hash="9" * 64)
    compared = {0: held(FORTY, SHAKEN_FORTY), 2: held(FORTY, FORTY), 3: held(FORTY, FORTY, other)}
    reports = [SHAKEN, NEW, STEADY, STEADY]
    found = overview([(f"run {place}", report, None) for place, report in enumerate(reports)], compared)
    rows = {row.label: row.against for row in found.rows}
    assert [row is None for row in (rows[f"run {place}"] for place in range(4))] == [False, True, False, False]
    assert [place for place in (0, 2, 3) if compared[place].refused] == [3]
    assert len(found.baselines) == 1
    page = overview_html(found)
    table = page.partition("Against the baseline")[2]
    assert table.count("<tr>") == 4
    assert "-0.333" in table
    assert "not compared" in table
    assert "Both are the same evidence." in table


def test_without_a_baseline_the_page_has_no_section_for_it() -> None:
    assert "Against the baseline" not in overview_html(overview([("a", OLD, None), ("b", NEW, None)]))


def test_runs_that_cannot_be_compared_have_no_drift() -> None:
    assert drift(STEADY, STEADY) == "within the intervals"
    assert [row.drift for row in overview([("a", OLD, None), ("five", FIVE, None), ("empty", EMPTY, None)]).rows] == [
        "—"
    ] * 3
