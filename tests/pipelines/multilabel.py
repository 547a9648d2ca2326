"""Multi-label jobs from the seven benchmark sets, and their files cut for nodes."""

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from anabranch.protocol import Array
from anabranch.stream import Block
from connectors import FileSource, RecordFormat, read_label_xml
from pipelines.run_dir import RunDirectory, read_lines

FILES = {
    "emotions": ["emotions.arff.gz"],
    "scene": ["scene-train.arff.gz", "scene-test.arff.gz"],
    "yeast": ["yeast.arff.gz"],
    "cal500": ["cal500.arff.gz"],
    "enron": ["enron.arff.gz"],
    "medical": ["medical.arff.gz"],
    "Corel5k": ["Corel5k-sparse.arff.gz"],
}
ROWS = {
    "emotions": 593, "scene": 2407, "yeast": 2417, "cal500": 502, "enron": 1702, "medical": 978,
    "Corel5k": 5000,
}  # fmt: skip


def settings(shared: Path, name: str, nodes: int, *more: str) -> list[str]:
    """Give the settings of a job that reads one of the sets; `more` come last and win."""
    folder = shared / "data/multilabel"
    paths = [str(folder / file) for file in FILES[name]]
    return [
        "source.kind=arff",
        f"source.paths={json.dumps(paths)}",
        f"source.label_xml={folder / f'{name}.xml.gz'}",
        "network.degree=",
        "network.graph=ring",
        f"network.nodes={nodes}",
        "learner.kind=doml",
        "evaluation.companions=[]",
        "evaluation.window=200",
        *more,
    ]


def sorted_shares(shared: Path, folder: Path, nodes: int) -> list[Path]:
    """Cut the scene set, whose rows are sorted by class, into files of contiguous rows."""
    header, rows = "", []
    for file in FILES["scene"]:
        text = gzip.decompress((shared / "data/multilabel" / file).read_bytes()).decode()
        header, _, data = text.partition("@data\n")
        rows.append([line for line in data.splitlines() if line.strip()])
    whole = [row for half in rows for row in half]
    # Both halves are sorted: put rows of one class together.
    whole.sort(key=lambda row: row.split(",")[-6:], reverse=True)
    paths = [folder / f"share{i:02d}.arff" for i in range(nodes)]
    for i, path in enumerate(paths):
        part = whole[i * len(whole) // nodes : (i + 1) * len(whole) // nodes]
        path.write_text(header + "@data\n" + "\n".join(part) + "\n", encoding="utf-8")
    return paths


def final(folder: Path) -> dict[str, dict[str, Any]]:
    """Give the last row of the network and of every companion."""
    return RunDirectory(folder / "run").final_rows()


def last_of_nodes(folder: Path, learner: str = "cooperative") -> dict[str, dict[str, Any]]:
    """Give the final row of every node."""
    rows = [r for r in read_lines(folder / "run/scores.jsonl") if r["final"] and r["node"]]
    return {row["node"]: row for row in rows if row["learner"] == learner}


def all_rows(shared: Path, name: str) -> tuple[Array, Array]:
    """Read a set whole: X (n, d) and y (n, q)."""
    folder = shared / "data/multilabel"
    labels = read_label_xml(folder / f"{name}.xml.gz")
    paths = tuple(str(folder / file) for file in FILES[name])
    source = FileSource(paths, "arff", RecordFormat(task="multilabel", labels=labels), 1 << 20)
    blocks = [source.build_part("all", part, None).next_batch()[0] for part in source.partitions]
    found = [block for block in blocks if isinstance(block, Block)]
    return np.concatenate([b.X for b in found]), np.concatenate([b.y for b in found])
