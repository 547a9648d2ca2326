"""The live pages of a made-up job in a real browser."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from playwright.sync_api import Browser, Page, expect

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
from tests.live.fake_job import HOSTILE, RED, FakeJob

NAMES = [f"n{i:02d}" for i in range(23)] + [HOSTILE]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as browser:
        yield browser


@pytest.fixture
def fake(tmp_path: Path) -> FakeJob:
    fake = FakeJob(tmp_path / "run", NAMES, silent=70.0)
    for _ in range(12):
        fake.step()
    fake.drift("begin", ["n03"])
    fake.drift("wider", ["n03", "n04"], "neighbourhood")
    return fake


def url(port: int, path: str = "/") -> str:
    return f"http://127.0.0.1:{port}{path}"


def test_curves_move_and_a_click_on_a_node_opens_its_page(fake: FakeJob, browser: Browser) -> None:
    with fake.served() as port, fake.going_on(), opened(browser, url(port)) as page:
        expect(page.locator("#state")).to_have_text("green")
        page.locator("#chart-scores").scroll_into_view_if_needed()
        until(lambda: points(page, "chart-scores", "cooperative") > 12)
        before = points(page, "chart-scores", "cooperative")
        samples = page.locator("#figure-samples").inner_text()
        until(lambda: points(page, "chart-scores", "cooperative") > before)
        expect(page.locator("#figure-samples")).not_to_have_text(samples)
        assert points(page, "chart-scores", "drift begins") == 2
        assert until(lambda: colours(page, "chart-network")) > 10
        page.locator("#chart-network").scroll_into_view_if_needed()
        page.mouse.click(*until(lambda: place_of(page, "n05")))
        page.wait_for_url("**/node/n05")
        expect(page.get_by_role("heading", level=1)).to_have_text("n05")
        until(lambda: points(page, "chart-scores", "node") > 5)
        expect(page.get_by_role("table", name="What the node heard")).to_contain_text("n04")
        page.get_by_role("link", name="n04").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("n04")
        expect(page.locator("#drifts")).to_contain_text("a neighbourhood spreads: n03, n04")
        page.get_by_role("navigation", name="Up").get_by_role("link").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("fake")


def test_the_keyboard_is_enough(fake: FakeJob, browser: Browser) -> None:
    with fake.served() as port, fake.going_on(), opened(browser, url(port)) as page:
        expect(page.locator("#nodes tbody tr")).to_have_count(15)
        passed = []
        while page.evaluate("document.activeElement.closest('#nodes tbody') === null"):
            page.keyboard.press("Tab")
            passed.append(page.evaluate("document.activeElement.id || document.activeElement.rel"))
            assert len(passed) < 20
        assert [one for one in passed if one in ("metric", "find", "order")] == [
            "metric",
            "find",
            "order",
        ]
        ring = "(({outlineStyle, outlineWidth}) => [outlineStyle, parseFloat(outlineWidth) >= 2])"
        assert page.evaluate(f"{ring}(getComputedStyle(document.activeElement))") == ["solid", True]
        name = page.evaluate("document.activeElement.textContent")
        now = page.locator("#figure-samples").inner_text()
        expect(page.locator("#figure-samples")).not_to_have_text(now)
        assert page.evaluate("document.activeElement.textContent") == name  # it stays under it
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(str(name))
        assert unquote(page.url).endswith(f"/node/{name}")


def test_nodes_are_found_sorted_and_paged(fake: FakeJob, browser: Browser) -> None:
    with fake.served() as port, fake.going_on(), opened(browser, url(port)) as page:
        rows = page.locator("#nodes tbody tr")
        expect(rows).to_have_count(15)
        worst = max(range(24), key=lambda i: fake.bias[i])
        expect(rows.first).to_contain_text(fake.drawing.names[worst])
        page.get_by_role("button", name="Next").click()
        expect(rows).to_have_count(9)
        expect(page.locator("#shown")).to_have_text("16 to 24 of 24")
        page.get_by_label("Find").fill("<B>")
        expect(rows).to_have_count(1)
        expect(rows.first).to_contain_text(HOSTILE)
        page.get_by_label("Find").fill("")
        page.get_by_label("Order").select_option("by name")
        expect(rows.nth(1)).to_contain_text("n00")
        page.get_by_label("Score shown").select_option("Accuracy")
        page.get_by_label("Order").select_option("worst first")
        expect(rows.first).to_contain_text(fake.drawing.names[worst])
        expect(page.locator("#scale-bad")).to_contain_text("worse")


def test_reasons_are_read_out_and_shown_as_text(fake: FakeJob, browser: Browser) -> None:
    with fake.served() as port, fake.going_on(), opened(browser, url(port)) as page:
        expect(page.locator("#told")).to_have_text("Health is green")
        fake.verdict = RED
        expect(page.get_by_role("region", name="Health")).to_contain_text("site <i>west</i> is")
        expect(page.locator("#told[aria-live=polite]")).to_contain_text("Health is red. partition")
        expect(page.locator("#letters")).to_contain_text("label is <script>alert(5)</script>")
        assert page.locator("main i, main b").count() == 0


def test_a_page_lives_on_when_the_job_ends_and_is_begun_anew(
    fake: FakeJob, browser: Browser, tmp_path: Path
) -> None:
    with ExitStack() as held:
        first = held.enter_context(ExitStack())
        port = first.enter_context(fake.served())
        page = held.enter_context(opened(browser, url(port)))
        expect(page.locator("#link")).to_have_text("Connected")
        first.close()
        expect(page.locator("#link")).to_contain_text("The job has ended")
        other = FakeJob(tmp_path / "other", ["m0", "m1", "m2"])
        held.enter_context(other.served("two", port))
        held.enter_context(other.going_on())
        expect(page.locator("#nodes tbody tr")).to_have_count(3)
        expect(page.locator("#link")).to_have_text("Connected")


def looks(page: Page) -> tuple[str, str]:
    """Give the colours of page and text."""
    found = page.evaluate("(({backgroundColor, color}) => [backgroundColor, color])"
                          "(getComputedStyle(document.body))")  # fmt: skip
    return tuple(found)


@pytest.mark.parametrize("path", ["/", f"/node/{quote(HOSTILE, safe='')}"])
def test_light_dark_and_on_a_phone(
    fake: FakeJob, browser: Browser, tmp_path: Path, path: str
) -> None:
    seen = {}
    with fake.served() as port, fake.going_on():
        for scheme, size in (("light", None), ("dark", None), ("light", PHONE)):
            with opened(browser, url(port, path), scheme=scheme, size=size) as page:
                photograph(page, tmp_path / f"{scheme}-{size is None}.png")
                line = "cooperative" if path == "/" else "network"
                until(lambda page=page, line=line: points(page, "chart-scores", line))
                assert is_as_wide_as_the_window(page)
                if path == "/":
                    until(lambda page=page: place_of(page, "n05"))
                assert colours(page, "chart-scores") > 10
                seen[scheme, size is None] = looks(page)
    assert seen["light", True] == seen["light", False]
    assert seen["light", True] != seen["dark", True]


def test_a_page_says_nothing_of_what_is_not_known_yet(tmp_path: Path, browser: Browser) -> None:
    fake = FakeJob(tmp_path / "run", ["n0", "n1", "n2"])
    with fake.served() as port, opened(browser, url(port)) as page:
        expect(page.locator("#link")).to_have_text("Connected")
        for told in ("No drift was found.", "Every record could be used."):
            expect(page.get_by_text(told)).to_be_hidden()
        with fake.going_on():
            expect(page.get_by_text("No drift was found.")).to_be_visible()
            fake.drift("end", ["n1"])
            expect(page.locator("#drifts")).to_contain_text("0.5000 when it was over")
            expect(page.get_by_text("A drift is over when")).to_be_visible()
        page.goto(url(port, "/node/n1"))
        expect(page.get_by_text("It tells nothing.")).to_be_hidden()


def test_a_page_that_comes_too_late_says_only_that_the_job_has_ended(
    tmp_path: Path, browser: Browser
) -> None:
    fake = FakeJob(tmp_path / "run", ["n0", "n1", "n2"])
    with fake.served() as port:
        fake.live.close()
        with opened(browser, url(port)) as page:
            expect(page.locator("#link")).to_have_text("The job has ended")
            expect(page.get_by_text("No drift was found.")).to_be_hidden()
