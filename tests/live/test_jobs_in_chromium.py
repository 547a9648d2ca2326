"""Real jobs of 20 and of 1,000 nodes, watched in a real browser while they run."""

import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

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
from tests.pipelines.jobs import command

SETTINGS = [
    "source.kind=nonlinear",
    "source.rows=900000000",
    "learner.kernel=gaussian",
    "learner.dimension=20",
    "output.models=false",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@contextmanager
def running(folder: Path, *settings: str) -> Iterator[str]:
    """Run a job while the context lasts; gives the address of its page."""
    log = folder / "said.txt"
    words = command(folder, "--http", "0", settings=[*SETTINGS, *settings])
    with log.open("wb") as said:
        job = subprocess.Popen(words, stdout=said, stderr=said, cwd=folder)
    try:
        found = until(lambda: re.search(r"live page: (http://\S+)", log.read_text()))
        yield found[1]
        job.send_signal(signal.SIGTERM)
        assert job.wait(timeout=120) == 0, log.read_text()
    finally:
        job.kill()
        job.wait()


def test_twenty_nodes_and_the_report_they_leave(tmp_path: Path, browser: Browser) -> None:
    more = ("network.nodes=20", "source.rows_per_tick=200", 'evaluation.companions=["local"]')
    with running(tmp_path, *more, "evaluation.every=5") as address:
        with opened(browser, address) as page:
            page.locator("#chart-scores").scroll_into_view_if_needed()
            before = until(lambda: points(page, "chart-scores", "cooperative"))
            until(lambda: points(page, "chart-scores", "cooperative") > before)
            expect(page.locator("#state")).to_have_text("green")
            page.locator("#chart-network").scroll_into_view_if_needed()
            until(lambda: place_of(page, "n07"))
            photograph(page, tmp_path / "light.png")
            page.mouse.click(*until(lambda: place_of(page, "n07")))
            expect(page.get_by_role("heading", level=1)).to_have_text("n07")
            until(lambda: points(page, "chart-scores", "node") > 1)
        with opened(browser, address, scheme="dark", size=PHONE) as page:
            page.locator("#chart-network").scroll_into_view_if_needed()
            until(lambda: place_of(page, "n07"))
            photograph(page, tmp_path / "phone.png")
            assert is_as_wide_as_the_window(page)
    with opened(browser, (tmp_path / "run" / "report.html").as_uri()) as page:
        until(lambda: place_of(page, "n07"))
        assert colours(page, "chart-network") > 10


def test_a_thousand_nodes(tmp_path: Path, browser: Browser) -> None:
    more = ("network.nodes=1000", "source.rows_per_tick=1000", "learner.warm_up=1")
    settings = (*more, "evaluation.every=2", "output.report=false")
    with running(tmp_path, *settings) as address, opened(browser, address) as page:
        expect(page.locator("#shown")).to_have_text("1 to 15 of 1,000")
        page.locator("#chart-scores").scroll_into_view_if_needed()
        before = until(lambda: points(page, "chart-scores", "cooperative"))
        until(lambda: points(page, "chart-scores", "cooperative") > before)
        page.locator("#chart-network").scroll_into_view_if_needed()
        until(lambda: place_of(page, "n500"))
        assert until(lambda: colours(page, "chart-network")) > 100
        page.get_by_label("Find").fill("n500")
        page.get_by_role("link", name="n500").press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("n500")
        expect(page.locator("#neighbours tbody tr").first).to_be_visible()
