"""What a run was and what it could not use: key figures, dead letters, configuration."""

import json
from collections.abc import Mapping
from typing import Any

from pipelines.report.markup import MISSING, bytes_of, count, number, table, text
from pipelines.report.runs import Run
from pipelines.run_dir import set_aside

__all__ = ["dead_letters", "figures", "flat", "key_values"]


def figures(run: Run) -> str:
    """Give the key figures of a run as a list of terms."""
    summary, last = run.summary, run.last(run.main)
    rate, seconds = summary.get("rate"), summary.get("seconds")
    disagreement = (last.disagreement or {}).get("mean") if last else None
    shown = {
        "Samples": count(summary.get("samples", last.samples if last else None)),
        "Samples a second": count(rate),
        "Seconds": number(seconds, 1) if isinstance(seconds, int | float) else MISSING,
        "Rounds": count(summary.get("rounds", last.round if last else None)),
        "Nodes": count(summary.get("nodes", len(run.nodes.get(run.main, {})))),
        "Edges": count(summary.get("edges")),
        "Messages": count(last.messages if last else None),
        "Sent": bytes_of(last.bytes if last else None),
        "Disagreement": number(disagreement),
        "Dead letters": count(sum(run.dead.counts.values())),
        **({"Alarms": count(summary["alarms"])} if "alarms" in summary else {}),
    }
    terms = "".join(f"<div><dt>{term}</dt><dd>{shown[term]}</dd></div>" for term in shown)
    return f'{_warning(run)}<dl class="figures">{terms}</dl>{_notes(run)}'


def _warning(run: Run) -> str:
    last, output = run.last(run.main), run.job.get("output")
    place = output.get("dead_letters") if isinstance(output, dict) else None
    many = set_aside(
        run.dead.counts,
        int(run.summary.get("samples") or (last.samples if last else 0)),
        str(place or run.path / "dead_letters.jsonl"),
    )
    return f'<p class="warning" role="note">Warning: {text(many)}</p>' if many else ""


def _notes(run: Run) -> str:
    notes = []
    if run.summary.get("stopped") == "signal":
        notes.append("The run was stopped by a signal before its input ended.")
    if not run.summary:
        notes.append("The run has not ended: there is no summary yet.")
    if run.damaged:
        lines = "line" if run.damaged == 1 else "lines"
        notes.append(f"{run.damaged:,} {lines} of the scores could not be read.")
    return "".join(f'<p class="note">{note}</p>' for note in notes)


def dead_letters(run: Run) -> str:
    """Give the dead letters by reason, and the first few of each."""
    total = sum(run.dead.counts.values())
    if not total:
        return "<p>Every record could be used.</p>"
    ranked = sorted(run.dead.counts.items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [[text(reason), count(n), f"{n / total:.1%}"] for reason, n in ranked]
    rows.append(["All", count(total), ""])
    by_reason = table(
        "Records that could not be used, by reason", ["Reason", "Records", "Share"], rows
    )
    examples = [
        _example(reason, letter)
        for reason, _ in ranked
        for letter in run.dead.examples.get(reason, [])
    ]
    if not examples:
        return by_reason
    listed = table(
        "The first few of each reason",
        ["Reason", "Where", "What is wrong", "Record"],
        examples,
        "letters",
    )
    return f"{by_reason}<details><summary>Examples</summary>{listed}</details>"


def _example(reason: str, letter: Mapping[str, Any]) -> list[str]:
    source, partition = letter.get("source", ""), letter.get("partition", "")
    place = f"{partition or source}, record {letter.get('position', '?')}"
    raw = letter.get("raw", "")
    shown = raw if isinstance(raw, str) else json.dumps(raw, ensure_ascii=False)
    return [
        text(reason),
        f'<span title="{text(source)}">{text(place)}</span>',
        text(letter.get("detail", "")),
        f"<code>{text(shown)}</code>",
    ]


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Give nested tables as dotted keys with values as JSON.

    >>> flat({"network": {"nodes": 20}, "tags": ["a"]})
    {'network.nodes': '20', 'tags': '["a"]'}
    """
    found: dict[str, str] = {}
    for key, item in values.items():
        if isinstance(item, Mapping):
            found |= flat(item, f"{prefix}{key}.")
        else:
            shown = item if isinstance(item, str) else json.dumps(item, ensure_ascii=False)
            found[f"{prefix}{key}"] = shown
    return found


def key_values(caption: str, values: Mapping[str, Any]) -> str:
    """Give nested settings as a table of dotted keys."""
    if not values:
        return "<p>None was written.</p>"
    rows = [[f"<code>{text(k)}</code>", f"<code>{text(v)}</code>"] for k, v in flat(values).items()]
    return table(caption, ["Key", "Value"], rows, "settings")
