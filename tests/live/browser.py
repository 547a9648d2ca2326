"""A real Chromium without a window, and what the tests ask of a page."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.packages import debian_program

expect.set_options(timeout=60_000)

_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}


@contextmanager
def launched() -> Iterator[Browser]:
    """Start Chromium; skip the test where it cannot be had."""
    program = debian_program("chromium", "chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=_ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Browser, url: str, *, scheme: Any = "light", size: Any = None
) -> Iterator[Page]:
    """Open a page; afterwards, nothing may have gone wrong nor left this machine."""
    context = browser.new_context(color_scheme=scheme, viewport=size or DESK)
    context.set_default_timeout(60_000)
    page, wrong, asked = context.new_page(), [], []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on(
        "console", lambda message: wrong.append(message.text) if message.type == "error" else None
    )
    page.on("request", lambda request: asked.append(request.url))
    page.goto(url)
    try:
        yield page
        assert not [text for text in wrong if "ERR_CONNECTION_REFUSED" not in text], wrong
        elsewhere = [at for at in asked if urlsplit(at).netloc != urlsplit(url).netloc]
        assert not [at for at in elsewhere if urlsplit(at).scheme not in ("data", "blob")]
    finally:
        context.close()


def until(condition: Callable[[], Any], seconds: float = 90.0) -> Any:
    """Wait until a callable gives something true, and give it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.05)
    return found


def points(page: Page, chart: str, line: str) -> int:
    """Count the points of a line as drawn."""
    return int(
        page.evaluate(
            """([chart, line]) => {
              const one = Charts.drawn.get(chart);
              return one ? one.doc.get_model_by_id(one.spec.sources[line]).data.x.length : 0;
            }""",
            [chart, line],
        )
    )


def place_of(page: Page, node: str) -> Any:
    """Give where a node is drawn, in pixels of the window; None before it is."""
    return page.evaluate(
        """(node) => {
          const one = Charts.drawn.get("chart-network");
          if (!one) return null;
          const { data } = one.doc.get_model_by_id(one.spec.sources.nodes);
          const i = data.name.indexOf(node);
          const [view] = [...Bokeh.index.query((view) => view.model === one.doc.roots()[0])];
          if (i < 0 || !view || !Number.isFinite(data.score[i])) return null;
          const { x, y } = view.canvas_view.el.getBoundingClientRect();
          const { x_scale, y_scale } = view.frame;
          return [x + x_scale.compute(data.x[i]), y + y_scale.compute(data.y[i])];
        }""",
        node,
    )


def colours(page: Page, chart: str) -> int:
    """Count the colours on a chart's canvases: an empty one has one or none."""
    return int(
        page.evaluate(
            """(id) => {
              const found = new Set();
              const walk = (root) => {
                for (const canvas of root.querySelectorAll("canvas")) {
                  const { width, height } = canvas;
                  if (!width || !height) continue;
                  const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
                  for (let i = 0; i < data.length; i += 4) {
                    if (data[i + 3]) found.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
                  }
                }
                for (const { shadowRoot } of root.querySelectorAll("*")) {
                  if (shadowRoot) walk(shadowRoot);
                }
              };
              walk(document.getElementById(id));
              return found.size;
            }""",
            chart,
        )
    )


def is_as_wide_as_the_window(page: Page) -> bool:
    """Tell whether nothing makes the page scroll sideways."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def photograph(page: Page, path: Path) -> bytes:
    """Take a picture of the whole page, every chart in it painted."""
    for chart in page.locator(".chart:visible").all():
        chart.scroll_into_view_if_needed()
        page.wait_for_timeout(150)
    page.evaluate("scrollTo(0, 0)")
    return page.screenshot(path=path, full_page=True)
