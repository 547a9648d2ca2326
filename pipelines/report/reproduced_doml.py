"""The page about the DOML paper: its tables beside our values, and what cannot be matched."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from anabranch.reproduce.doml_table import Table
from pipelines.report.markup import text
from pipelines.report.page import page, section
from pipelines.report.paper_tables import shown
from pipelines.report.write import write_html

__all__ = ["doml_body", "write_doml"]

_SECTIONS: Mapping[str, Sequence[str]] = {
    "Tables 3 and 4": ("tables 3 and 4", "nodes", "knn"),
    "What to reach in practice": ("practical", "class-sorted scene"),
    "Convergence, late and lost messages": ("graphs", "delay", "loss"),
    "Windows and drift": ("windows", "drift"),
    "Message volume": ("bytes",),
}
_READINGS = (
    "One step (Eq. 9-12) is taken by elimination, which equals the 2d x 2d solve of the paper. "
    "The literal settings are w = 1, no ridge, and fields as they are.",
    "The standard split into rows to learn and to test; of CAL500 the first 400 rows and the "
    "last 102. Nodes get contiguous shares in the order of the file.",
    "A node learns a row a round, exchanges once, and after the last row predicts by ML-kNN "
    "over its own samples in the space of P'x.",
    "Values of the paper are those of its Tables 3 and 4 and of its twenty nodes that we have; "
    "others are not shown rather than guessed.",
    "Medical and yeast cannot be matched: the KNN column, in which DOML has no part, differs "
    "already. The rows of 100 nodes of CAL500 and emotions come from a k-NN that takes sample 0 "
    "again and again where there are fewer samples than neighbours.",
    "OML (Gong et al. 2020), its other competitor, is not run: its update rule is not in public "
    "text. Its rows for Corel5k and scene are those of a predictor that gives no label ever.",
)  # HTML


def write_doml(tables: Sequence[Table], sets: Mapping[str, Any], out: Path) -> None:
    """Write the page: one file that makes no request.

    Parameters
    ----------
    tables : what `anabranch.reproduce.doml.reproduce` gives
    sets : "run": names; "missing": name -> file that was not there
    """
    told = f"Sets: {text(', '.join(sets['run']))}"
    if sets["missing"]:
        told += f"; left out, since not there: {text(', '.join(sets['missing']))}"
    title = "Online labels on many nodes: the DOML paper and this project"
    write_html(page(title, told, doml_body(tables), []), out)


def doml_body(tables: Sequence[Table]) -> str:
    """Give the sections."""
    found = {one.key: one for one in tables}
    body = ""
    for title, keys in _SECTIONS.items():
        body += section(title, "".join(shown(found[key]) for key in keys if key in found))
    readings = "".join(f"<li>{reading}</li>" for reading in _READINGS)
    return body + section("How the paper was read", f"<ul>{readings}</ul>")
