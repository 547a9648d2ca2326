"""What nodes send each other in a round, in messages and bytes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pipelines.config import Job
from pipelines.config.learner import learner_class, takes_labels

if TYPE_CHECKING:
    from anabranch.network import Weights
    from anabranch.stream import Block
    from pipelines.sources import JobSource

__all__ = ["first_blocks", "traffic"]

_TRIED = 100
"""Records to look at, at least; those of a window where there are windows."""


def traffic(
    job: Job, source: "JobSource", weights: "Weights", blocks: Sequence["Block"]
) -> dict[str, str]:
    """Give the messages and bytes of a round, in words.

    Learners of sparse rows send what their samples touched: their messages are measured with
    the first block that has rows.
    """
    from anabranch.protocol import takes_sparse

    messages = 2 * len(weights.graph.edges)
    told = {"messages a round": f"{messages:,}"}
    if takes_sparse(learner_class(job.learner.kind)):
        return told | {"bytes a round": _of_rows(job, source, messages, blocks)}
    features, text = source.columns or len(source.features) or None, "depends on features"
    if features is not None:
        size = _message_size(job, features)
        text = f"at most {messages * size:,} ({messages:,} messages of {size:,})"
    if job.source.label_list and job.source.new_labels == "grow":
        text += ", more with every new label"
    return told | {"bytes a round": text}


def _of_rows(job: Job, source: "JobSource", messages: int, blocks: Sequence["Block"]) -> str:
    block = next((block for block in blocks if len(block.y)), None)
    if block is None:
        return "depends on the features that a round's rows have"
    rows = round(job.source.rows_per_tick * len(source.partitions) / len(job.hosted)) or 1
    rows = min(rows * job.exchange.every, len(block.y))
    learner, every = _fresh(job, source.width)(), job.exchange.every
    learner.messages(0)
    learner.combine(0, {}, {"another": 0.5})  # from now on it knows that there is someone to tell
    learner.learn(block.X[:rows], block.y[:rows])
    size = _largest(learner, every)
    words = "1 row" if rows == 1 else f"{rows:,} rows"
    return (
        f"about {messages * size:,} ({messages:,} messages of {size:,}, by the first {words}; "
        "what is passed on comes on top)"
    )


def first_blocks(job: Job, source: "JobSource") -> list["Block"]:
    """Give a partition's first blocks; none of topics, followed files and batch jobs."""
    from anabranch.stream import Block

    if job.source.kind == "kafka" or job.source.follow or job.job.kind == "batch":
        return []
    found: list[Block] = []
    part = source.blocks.build_part("check", source.partitions[0], None)
    wanted = max(_TRIED, -(-(job.signal.window or 0) // job.signal.samples))
    try:
        while sum(len(block.y) + len(block.dead) for block in found) < wanted:
            found += [item for item in part.next_batch() if isinstance(item, Block)]
    except StopIteration:
        pass
    finally:
        part.close()
    return found


def _fresh(job: Job, features: int) -> Callable[[], Any]:
    from anabranch.learners import make

    section = job.learner
    known = {"labels": job.source.label_names} if takes_labels(learner_class(section.kind)) else {}
    return lambda: make(section.kind, features, section.ranks, **known, **section.options)


def _largest(learner: Any, round: int) -> int:
    late = learner.messages(round)
    return max((sum(a.nbytes for a in message.arrays.values()) for message in late), default=0)


def _message_size(job: Job, features: int) -> int:
    from anabranch.protocol import Labelled

    # Past any warm-up, whose messages carry moments too.
    after = int(job.learner.options.get("warm_up") or 0) + 1
    fresh = _fresh(job, features)
    learner = fresh()
    if isinstance(learner, Labelled):
        learner = _taught(fresh, features, after)
    return _largest(learner, 2 * after)


def _taught(fresh: Callable[[], Any], features: int, rounds: int) -> Any:
    """Give one of two nodes that have met samples, for learners that say little before."""
    import numpy as np

    from anabranch.network import combination_weights, node_names, path
    from anabranch.simulate import simulate

    graph = path(node_names(2))
    nodes = {name: fresh() for name in graph.nodes}
    X = np.random.default_rng(0).normal(size=(4, features))
    y = np.repeat(np.array([[0.0], [1.0]] * 2), len(nodes[graph.nodes[0]].labels), axis=1)
    tick = dict.fromkeys(graph.nodes, (X, y))
    run = simulate(nodes, combination_weights(graph), [tick], final_rounds=rounds)
    return run.learners[graph.nodes[0]]
