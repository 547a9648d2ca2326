"""Is the live page of a large network fluent: python -m benchmarks.live_page [--nodes N].

A made-up job goes on by a round a second; Chromium has its page open. Told are what the page's
main thread computes (its own time: a busy machine does not count), how long frames take, how much
the page is sent, and what gathering and telling costs the job's supervising process.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from threading import Event, Thread
from typing import Any

from playwright.sync_api import CDPSession
from rich.console import Console

from benchmarks.table import Row, print_rows, write_results
from pipelines.live.channel import Channel
from tests.live.browser import launched, opened, place_of, until
from tests.live.fake_job import FakeJob

__all__ = ["main"]

_WATCH = """
window.frames_ = []; window.long_ = [];
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) window.long_.push(duration);
}).observe({ type: "longtask" });
let last = performance.now();
const tick = (now) => { window.frames_.push(now - last); last = now; requestAnimationFrame(tick); };
requestAnimationFrame(tick);
"""


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live_page")
    parser.add_argument("--nodes", type=int, default=1000, help="1000 without")
    parser.add_argument("--seconds", type=float, default=20.0, help="how long to watch")
    args = parser.parse_args()
    title = f"live page of {args.nodes:,} nodes"
    names = [f"n{i:04d}" for i in range(args.nodes)]
    with tempfile.TemporaryDirectory(prefix="live-") as folder:
        fake = FakeJob(Path(folder) / "run", names, graph="random")
        for _ in range(150):
            fake.step()
        rows = _measured(fake, args.seconds)
    found = [Row(title, name, value, unit) for name, value, unit in rows]
    print_rows(Console(width=110), found)
    print(write_results("live_page", found))


def _measured(fake: FakeJob, seconds: float) -> list[tuple[str, float, str]]:
    with ExitStack() as held:
        port = held.enter_context(fake.served())
        browser = held.enter_context(launched())
        spent = held.enter_context(_each_second(fake))
        page = held.enter_context(opened(browser, f"http://127.0.0.1:{port}/"))
        until(lambda: place_of(page, fake.names[0]))
        sent = _sizes(fake)
        page.evaluate(_WATCH)
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable", {"timeDomain": "threadTicks"})
        begin, before, first = time.monotonic(), _busy(session), len(spent)
        page.wait_for_timeout(1000 * seconds)
        took, busy = time.monotonic() - begin, _busy(session) - before
        frames = sorted(page.evaluate("window.frames_"))
        long = page.evaluate("window.long_")
    updates = spent[first:]
    return [
        ("page's main thread busy", 1000 * busy / took, "ms each second"),
        ("frames", len(frames) / took, "each second"),
        ("frame time, median", frames[len(frames) // 2], "ms"),
        ("frame time, 95th percentile", frames[int(0.95 * len(frames))], "ms"),
        ("frame time, longest", frames[-1], "ms"),
        ("tasks over 50 ms", len(long) / took, "each second"),
        *((f"event {name}", size / 1000, "kB") for name, size in sorted(sent.items())),
        ("one update in the supervisor", 1000 * sum(updates) / max(1, len(updates)), "ms"),
    ]


@contextmanager
def _each_second(fake: FakeJob) -> Iterator[list[float]]:
    """Let the job go on; gives the processor time of each update of the pages, in seconds."""
    stop, spent = Event(), []
    update = fake.live.update

    def timed(*args: Any) -> None:
        begin = time.thread_time()
        update(*args)
        spent.append(time.thread_time() - begin)

    def go() -> None:
        while not stop.wait(1.0):
            fake.step()

    fake.live.update = timed  # type: ignore[method-assign]
    thread = Thread(target=go, daemon=True)
    thread.start()
    try:
        yield spent
    finally:
        stop.set()
        thread.join()


def _sizes(fake: FakeJob) -> dict[str, int]:
    channel: Channel = fake.live.channels.watched()[""]
    _, events, _ = channel.take(0, 5.0)
    return {text.split(b"\n", 1)[0].decode().removeprefix("event: "): len(text) for text in events}


def _busy(session: CDPSession) -> float:
    """Give the processor time of the page's main thread, in seconds."""
    found = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in found if one["name"] == "TaskDuration"))


if __name__ == "__main__":
    main()
