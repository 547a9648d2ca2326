"""The HTML of the live pages. Their scripts fill in what changes, as text and never as HTML."""

from collections.abc import Mapping, Sequence

from pipelines.config import Job
from pipelines.report.drift import over
from pipelines.report.markup import legend, region, text
from pipelines.report.page import in_script, section
from pipelines.report.styles import Style

__all__ = ["node_body", "overview_body", "shell"]

_FIGURES = {
    "samples": "Samples",
    "rate": "Samples a second",
    "lag": "Records behind",
    "round": "Round",
    "messages": "Messages",
    "bytes": "Sent",
    "disagreement": "Disagreement",
    "dead": "Dead letters",
    "alarms": "Alarms",
    "memory": "Memory",
}
_NODE_FIGURES = {
    "samples": "Samples",
    "round": "Round",
    "messages": "Messages",
    "bytes": "Sent",
    "heard": "Last report",
}
_NO_BOKEH = (
    '<p class="note">Charts need bokeh, which is not installed: '
    "<code>pip install 'anabranch[report]'</code>. The tables hold the same.</p>"
)


def shell(
    *,
    title: str,
    heading: str,
    up: str | None,
    body: str,
    attributes: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    charts: str,
) -> str:
    """Put a page together; `up` names the page above it, if there is one."""
    links = "".join(f'<link rel="stylesheet" href="{text(style)}">' for style in styles)
    loads = "".join(f'<script src="{text(script)}" defer></script>' for script in scripts)
    above = f'<nav aria-label="Up"><a href="/">&larr; {text(up)}</a></nav>' if up else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{text(title)} · anabranch live</title>
{links}
</head>
<body class="live"{attributes}>
<a class="skip" href="#main">To the content</a>
<header>{above}<p class="kicker">anabranch live</p><h1>{text(heading)}</h1>
<p id="link" role="status">Connecting</p></header>
<main id="main">{_HEALTH}{body}</main>
<script id="charts" type="application/json">{in_script(charts)}</script>
{loads}
</body>
</html>
"""


_HEALTH = """<section class="health" aria-labelledby="health-title">
<h2 id="health-title">Health</h2>
<p><strong id="state" data-state="">not known yet</strong></p><ul id="reasons"></ul>
<p id="told" class="unseen" role="status" aria-live="polite"></p></section>"""

_METRIC = '<p><label for="metric">Score shown</label> <select id="metric"></select></p>'

_FIND = """<form class="tools" role="search" id="tools">
<label>Find <input type="search" id="find" autocomplete="off" placeholder="name"></label>
<label>Order <select id="order"><option value="worst">worst first</option>
<option value="name">by name</option><option value="silent">longest silent first</option>
</select></label></form>"""

_PAGER = """<p class="pager"><button type="button" id="back">Previous</button>
<span id="shown" role="status"></span><button type="button" id="next">Next</button></p>"""


def overview_body(job: Job, styles: Mapping[str, Style], *, drawn: bool) -> str:
    """Give the sections of the page of the whole job."""
    lines = [(style.name, style.ink, style.dash) for style in styles.values()]
    by_rounds = job.job.kind == "batch"
    return (
        ("" if drawn else _NO_BOKEH)
        + _figures("Key figures", _FIGURES)
        + _METRIC
        + section("Network", _network(drawn))
        + section("Scores", _scores(lines, drawn, by_rounds))
        + section("Exchange and flow", _small(drawn))
        + section("Partitions", _filled("partitions", "Partitions of the source, most lag first",
                  ["Partition", "Next record", "Behind", "Age", "Error"],
                  "Only topics tell how far their partitions are."))
        + section("Drift", _filled("drifts", "Drifts found, the newest first",
                  ["Round", "Since round", "What", "Mean error"],
                  "No drift was found.", over(job.drift.every, job.drift.settle)))
        + section("Dead letters", _filled("letters", "Records that could not be used, by reason",
                  ["Reason", "Records", "Examples"], "Every record could be used."))
    )  # fmt: skip


def node_body(job: Job, *, drawn: bool) -> str:
    """Give the sections of a node's own page."""
    lines = [("This node", "--local", "solid"), ("Network", "--cooperative", "dashed"), _DRIFT]
    label = "Score in the window, of this node and the network"
    caption = "The node's line begins when this command was started."
    chart = _chart("chart-scores", label, caption, legend(lines))
    return (
        ("" if drawn else _NO_BOKEH)
        + '<p class="warning" id="gone" hidden>This node is no longer in the network.</p>'
        + _figures("Key figures", _NODE_FIGURES)
        + _METRIC
        + (section("Scores", chart) if drawn else "")
        + section("Scores now", _filled("window", "Scores of the node's newest samples",
                  ["Score", "Node"], "There is no score yet."))
        + section("Neighbours", _filled("neighbours", "What the node heard from each neighbour",
                  ["Neighbour", "Its score", "Heard", "Messages", "Bytes"],
                  "Nothing was heard yet."))
        + section("Drift", _filled("drifts", "Drifts in which the node takes part, newest first",
                  ["Round", "Since round", "What", "Mean error"],
                  "No drift was found.", over(job.drift.every, job.drift.settle)))
        + section("Learner", _filled("measures", "What its learner tells of itself",
                  ["Measure", "Value", "Meaning"], "It tells nothing."))
    )  # fmt: skip


_DRIFT = ("Drift", "--drift", "upright")


def _figures(label: str, figures: Mapping[str, str]) -> str:
    terms = "".join(
        f'<div><dt>{term}</dt><dd id="figure-{key}">&ndash;</dd></div>'
        for key, term in figures.items()
    )
    return f'<dl class="figures" aria-label="{label}">{terms}</dl>'


def _chart(target: str, label: str, caption: str, before: str = "") -> str:
    return (
        f'<figure id="{target}-figure">{before}'
        f'<div class="chart" id="{target}" role="img" aria-label="{text(label)}"></div>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def _network(drawn: bool) -> str:
    scale = (
        '<p class="scale"><span id="scale-good">better</span><span class="ramp" aria-hidden="true">'
        '</span><span id="scale-bad">worse</span></p>'
    )
    caption = (
        "Colour: score in the window; hollow: none yet. Edges: wider, more bytes; orange, silent "
        "for up to a minute. Click a node, or its name in the table."
    )
    picture = _chart("chart-network", "Network; the table holds the same", caption, scale)
    note = '<p class="note" id="undrawn" hidden>The network is too large to be drawn.</p>'
    table = _table("nodes", "Nodes", ["Node", "Score", "Samples", "Round", "Heard", "Notes"])
    nodes = f"<div>{_FIND}{table}{_PAGER}</div>"
    return f'<div class="split">{picture}{note}{nodes}</div>' if drawn else nodes


def _scores(lines: list[tuple[str, str, str]], drawn: bool, by_rounds: bool) -> str:
    entries = legend([*lines, ("Worst nodes", "--node", "thin"), _DRIFT])
    scale = "rounds" if by_rounds else "samples seen by the network"
    caption = (
        f"Score in the window against {scale}. Worst nodes now: "
        '<span id="worst">none</span>. Dotted upright: a drift is over.'
    )
    chart = _chart("chart-scores", "Scores over time; the table holds the newest", caption, entries)
    table = _filled("beside", "Newest scores", ["Learner"], "No scores were written yet.")
    return (chart if drawn else "") + table


def _small(drawn: bool) -> str:
    if not drawn:
        return ""
    charts = [
        ("disagreement", "Disagreement", "Disagreement between nodes, logarithmic."),
        ("rate", "Throughput", "Samples a second, all processes."),
        ("lag", "Lag", "Records that wait in the source's partitions."),
    ]
    html = "".join(_chart(f"chart-{key}", label, caption) for key, label, caption in charts)
    return f'<div class="pair">{html}</div>'


def _filled(key: str, caption: str, head: Sequence[str], empty: str, note: str = "") -> str:
    table = _table(key, caption, head)
    none = f'<p id="no-{key}" hidden>{text(empty)}</p>'  # nothing is known before the first data
    below = f'<p class="note">{text(note)}</p>' if note else ""
    return f'{none}<div id="some-{key}" hidden>{table}{below}</div>'


def _table(key: str, caption: str, head: Sequence[str]) -> str:
    columns = "".join(f'<th scope="col">{text(cell)}</th>' for cell in head)
    return region(
        caption,
        f'<table class="{key}" id="{key}"><caption><span>{text(caption)}</span></caption>'
        f"<thead><tr>{columns}</tr></thead><tbody></tbody></table>",
    )
