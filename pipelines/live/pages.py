"""The live pages: one of the whole job, one of each node."""

import json
from collections.abc import Generator, Mapping
from html import escape
from urllib.parse import quote, unquote

from pipelines.config import Job
from pipelines.http import Answer
from pipelines.live.channel import event
from pipelines.live.charts import flow_chart, lines_chart
from pipelines.live.files import address, find, has_bokeh
from pipelines.live.job import OVERVIEW, LiveJob
from pipelines.live.text import node_body, overview_body, shell
from pipelines.report.bokeh_parts import Chart
from pipelines.report.styles import Style, named_styles

__all__ = ["LivePages"]

_HTML = "text/html; charset=utf-8"
_NODE, _EVENTS, _STATIC = "/node/", "/events", "/static/"


class LivePages:
    """Answers for the live pages of a job.

    Parameters
    ----------
    job : what is run
    live : what is known of it
    boot : differs whenever the job's command is started anew: pages that see another load again
    """

    def __init__(self, job: Job, live: LiveJob, boot: str) -> None:
        self._job, self._live, self._boot = job, live, boot
        self._styles = named_styles(["cooperative", *job.evaluation.companions])

    def answer(self, path: str) -> Answer | None:
        """Answer for a path; names in it are compared with those of nodes, never with files."""
        if path == "/":
            return self._overview()
        if path.startswith(_NODE):
            return self._node(unquote(path.removeprefix(_NODE)))
        if path == _EVENTS:
            return self._events(OVERVIEW)
        if path.startswith(f"{_EVENTS}{_NODE}"):
            node = unquote(path.removeprefix(f"{_EVENTS}{_NODE}"))
            return self._events(node) if node in self._live.nodes else None
        if path.startswith(_STATIC) and (file := find(path.removeprefix(_STATIC))):
            return Answer(200, file.kind, file.body, file.packed, lasting=True)
        return None

    def _overview(self) -> Answer:
        name = self._job.job.name
        charts = _overview_charts(self._styles, self._live.by_rounds) if has_bokeh() else []
        body = overview_body(self._job, self._styles, drawn=has_bokeh())
        return self._page(name, name, body, charts, "overview.js", _EVENTS)

    def _node(self, node: str) -> Answer:
        if node not in self._live.nodes:
            text = f"there is no node {node!r} in the network\n"
            return Answer(404, "text/plain; charset=utf-8", text.encode())
        charts = [_node_chart(self._live.by_rounds)] if has_bokeh() else []
        stream = f"{_EVENTS}{_NODE}{quote(node, safe='')}"
        title = f"{node} · {self._job.job.name}"
        return self._page(
            title, node, node_body(self._job, drawn=has_bokeh()), charts, "node.js", stream
        )

    def _page(
        self, title: str, heading: str, body: str, charts: list[Chart], script: str, stream: str
    ) -> Answer:
        told = {"boot": self._boot, "events": stream, "job": self._job.job.name}
        scripts = [*(["bokeh.js"] if charts else []), "charts.js", "live.js", script]
        html = shell(
            title=title,
            heading=heading,
            up=self._job.job.name if script == "node.js" else None,
            body=body,
            attributes="".join(f' data-{k}="{escape(v)}"' for k, v in told.items()),
            styles=[address("report.css"), address("live.css")],
            scripts=[address(name) for name in scripts],
            charts=json.dumps([chart.spec() for chart in charts], allow_nan=False),
        )
        return Answer(200, _HTML, html.encode())

    def _events(self, page: str) -> Answer:
        return Answer(200, "text/event-stream; charset=utf-8", stream=self._stream(page))

    def _stream(self, page: str) -> Generator[bytes, None, None]:
        yield event("hello", json.dumps(self._boot).encode())
        yield from self._live.follow(page)


def _overview_charts(styles: Mapping[str, Style], by_rounds: bool) -> list[Chart]:
    shown = dict(styles)
    apart = {"cooperative": styles["cooperative"]}
    return [
        lines_chart("chart-scores", "score", shown, by_rounds=by_rounds, others="worst"),
        lines_chart(
            "chart-disagreement", "mean distance from the average", apart,
            by_rounds=by_rounds, log=True,
        ),
        flow_chart("chart-rate", "samples a second", "rate", "--cooperative"),
        flow_chart("chart-lag", "records not read yet", "lag", "--local"),
    ]  # fmt: skip


def _node_chart(by_rounds: bool) -> Chart:
    lines = {
        "node": Style("This node", "--local", "solid"),
        "network": Style("Network", "--cooperative", "dashed"),
    }
    return lines_chart("chart-scores", "score", lines, by_rounds=by_rounds)
