"""The page itself: sections of one run or of several, styles and scripts, in one file."""

import json
from collections.abc import Sequence
from importlib.resources import files

from pipelines.report.bokeh_parts import Chart, script
from pipelines.report.markup import text

__all__ = ["in_script", "page", "section"]

_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)

_SCRIPTS = ("charts.js", "report.js")


def section(title: str, content: str) -> str:
    """Build a section with a heading; empty where there is no content."""
    if not content:
        return ""
    return f"<section><h2>{text(title)}</h2>{content}</section>"


def page(title: str, subtitle: str, body: str, charts: Sequence[Chart]) -> str:
    """Put the page together; its policy forbids every request to elsewhere."""
    folder = files("pipelines.report")
    css = folder.joinpath("report.css").read_text(encoding="utf-8")
    parts = [folder.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS]
    js = "\n".join(parts)
    specs = json.dumps([chart.spec() for chart in charts], allow_nan=False)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_POLICY}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{text(title)} · anabranch</title>
<style>{css}</style>
</head>
<body>
<header><p class="kicker">anabranch report</p><h1>{text(title)}</h1><p>{subtitle}</p></header>
<main>{body}</main>
<script id="charts" type="application/json">{in_script(specs)}</script>
<script>{script()}</script>
<script>{js}</script>
</body>
</html>
"""


def in_script(content: str) -> str:
    """Keep data from ending the script element it stands in."""
    return content.replace("<", "\\u003c").replace("\u2028", "\\u2028")
