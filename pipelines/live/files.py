"""What the live pages are made of besides their text: styles and scripts, BokehJS among them."""

import gzip
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.util import find_spec

__all__ = ["File", "address", "find", "has_bokeh"]

_KINDS = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8"}
_PLACES = {
    "report.css": "pipelines.report",
    "charts.js": "pipelines.report",
    "live.css": "pipelines.live",
    "live.js": "pipelines.live",
    "overview.js": "pipelines.live",
    "node.js": "pipelines.live",
}
_BOKEH = "bokeh.js"


@dataclass(frozen=True)
class File:
    """A file as it is sent: its type, its bytes, and the same by gzip."""

    kind: str
    body: bytes
    packed: bytes

    @property
    def version(self) -> str:
        """Changes with the contents, so that browsers may keep the file for ever."""
        return sha256(self.body).hexdigest()[:12]


def has_bokeh() -> bool:
    """Tell whether charts can be drawn."""
    return find_spec("bokeh") is not None


@cache
def find(name: str) -> File | None:
    """Give a file by its name; None of any other: nothing is looked up on the disk by name."""
    if name == _BOKEH and has_bokeh():
        from pipelines.report.bokeh_parts import script

        text = script()
    elif name in _PLACES:
        text = files(_PLACES[name]).joinpath(name).read_text(encoding="utf-8")
    else:
        return None
    body = text.encode()
    return File(_KINDS[name.rpartition(".")[2]], body, gzip.compress(body, mtime=0))


def address(name: str) -> str:
    """Give the address of a file that is there, its version included."""
    found = find(name)
    return f"/static/{name}" + ("" if found is None else f"?v={found.version}")
