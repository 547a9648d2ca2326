"""The report in a real browser."""

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import expect

from pipelines.report import write_report
from tests.live.browser import (
    PHONE,
    colours,
    is_as_wide_as_the_window,
    launched,
    opened,
    photograph,
    place_of,
    points,
    until,
)


def test_the_report_shares_the_pictures(tmp_path: Path, make_run: Callable[..., Path]) -> None:
    run = make_run(tmp_path / "r", nodes=12, rounds=8)
    drift = '{"round": 5, "since": 4, "scope": "node", "nodes": ["n03"], "kind": "begin"}\n'
    (run / "drift.jsonl").write_text(drift)
    write_report([run], tmp_path / "report.html")
    address = (tmp_path / "report.html").as_uri()
    with launched() as browser:
        for scheme, size in (("light", None), ("dark", PHONE)):
            with opened(browser, address, scheme=scheme, size=size) as page:
                until(lambda page=page: place_of(page, "n05"))
                assert points(page, "chart-metric", "drift begins") == 1
                photograph(page, tmp_path / f"report-{scheme}.png")
                assert colours(page, "chart-network") > 10
                assert is_as_wide_as_the_window(page)
                expect(page.get_by_role("table", name="Drifts found")).to_contain_text("n03")
