"""The little of bokeh that is used, imported when a report is written and not before."""

from dataclasses import dataclass, field
from typing import Any, Literal

from anabranch.errors import ConfigurationError

__all__ = ["Chart", "check_bokeh", "empty_figure", "script"]

_HEIGHT = 340


@dataclass
class Chart:
    """A figure, and what the page's script needs to colour it and to switch its metric.

    Attributes
    ----------
    inks : glyph id -> CSS variable of its colour; axes are coloured by kind
    outlines : glyph id -> CSS variable of the colour of its line alone
    sources : what a live page changes: a name -> id
    switched : ids of glyphs whose y (or ys) is the chosen metric
    axis : id of the axis whose label names the chosen metric
    ranges : "scope.metric" -> lowest and highest value of the y axis where that is chosen
    frame : ids of axes and grids
    square : whether it is no higher than its place is wide
    """

    target: str
    figure: Any
    inks: dict[str, str] = field(default_factory=dict)
    outlines: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    switched: list[str] = field(default_factory=list)
    axis: str = ""
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    square: bool = False

    def spec(self) -> dict[str, Any]:
        """Give everything as JSON values."""
        from bokeh.embed import json_item

        figure = self.figure
        return {
            "target": self.target,
            "item": json_item(figure),
            "inks": self.inks,
            "outlines": self.outlines,
            "sources": self.sources,
            "switched": self.switched,
            "axis": self.axis,
            "range": figure.y_range.id,
            "ranges": self.ranges,
            "square": self.square,
            "axes": [axis.id for axis in figure.axis],
            "grids": [grid.id for grid in figure.grid],
        }


def check_bokeh() -> None:
    """Refuse to begin without the optional dependency.

    Raises
    ------
    ConfigurationError
        Bokeh is not installed.
    """
    try:
        import bokeh.plotting  # noqa: F401
    except ImportError as error:
        raise ConfigurationError(
            "bokeh is not installed, and the report needs it; "
            "install it with: pip install 'anabranch[report]'"
        ) from error


def script() -> str:
    """Give bokeh's own JavaScript, to be set into the page."""
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", components=["bokeh"]).js_raw)


def empty_figure(
    label: str,
    title: str,
    kind: Literal["linear", "log"] = "linear",
    across: Literal["linear", "log", "datetime"] = "linear",
) -> Any:
    """Make a figure against samples, as wide as its place, without colours of its own.

    `kind` is the y axis's, `across` the x axis's.
    """
    from bokeh.models import BasicTickFormatter, NumeralTickFormatter
    from bokeh.plotting import figure

    made: Any = figure(
        height=_HEIGHT,
        sizing_mode="stretch_width",
        x_axis_type=across,
        y_axis_type=kind,
        x_axis_label="samples seen by the network",
        y_axis_label=label,
        tools="pan,box_zoom,wheel_zoom,reset,save",
        active_drag=None,
        active_scroll=None,
        toolbar_location="right",
        background_fill_alpha=0,
        border_fill_alpha=0,
        outline_line_alpha=0,
        name=title,
    )
    made.toolbar.logo = None
    made.toolbar.autohide = True
    if across == "datetime":
        made.xaxis.axis_label = "time of day"
    else:
        made.xaxis.formatter = NumeralTickFormatter(format="0.[0]a")
    made.xaxis.ticker.desired_num_ticks = 5
    made.axis.axis_label_text_font_style = "normal"
    made.axis.minor_tick_line_color = None
    made.xgrid.visible = False
    if kind == "log":
        made.yaxis.formatter = BasicTickFormatter()
    else:
        made.yaxis.formatter = NumeralTickFormatter(format="0.[000]a")
    return made
