"""Online NPSVOR through the dataflow: law 1 with sparse rows, resume, sites, asynchronous time."""

import pickle
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest
from bytewax.recovery import init_db_dir

from anabranch.evaluation import disagreement
from anabranch.exchange import Policy
from anabranch.learners import NPSVOR
from anabranch.letters import Letter
from anabranch.sparse import SparseRows
from connectors.kafka.letter_codec import Envelope, decode_letter, encode_letter
from tests.operators.flows import run_flow, run_loop
from tests.operators.site_flows import run_sites
from tests.operators.site_model import play
from tests.operators.spread import Spread
from tests.operators.toy import Stops, ToySource, rows
from tests.operators.toy_job import NAMES, toy_plan

FEATURES = 200


class TextSource(ToySource):
    """Sparse rows, of a few of many features."""

    def block(self, part, tick, start, count):
        block = super().block(part, tick, start, count)
        draws, _ = rows(part, start, count, 8)
        X = np.zeros((count, FEATURES))
        places = (np.abs(draws) * 40).astype(int) % FEATURES
        X[np.arange(count)[:, None], places] = 0.35
        y = 1.0 + (places < 40).sum(axis=1).clip(0, 5) // 2
        return replace(block, X=SparseRows.of(X).frozen(), y=y)


def npsvor_plan(partitions, rule="hash", settings=None, **options):
    plan = toy_plan(partitions, rule, **options)
    return replace(
        plan, make=lambda node: NPSVOR(FEATURES, 3, **(settings or {})), restore=NPSVOR.restore,
        ranks=3,
    )  # fmt: skip


def same(model, learner):
    assert pickle.dumps(model) == pickle.dumps(learner.model())


def compare(ran, reference):
    models = {f.node: f.model for f in ran.finals}
    for node in NAMES:
        same(models[node], reference.learners[node])
    row = ran.final_row()
    assert row["messages"] == reference.messages
    assert row["bytes"] == reference.bytes
    assert row["scores"] == pytest.approx(reference.scores(ranks=3))
    assert ran.dead == []


@pytest.mark.parametrize(
    ("workers", "settings", "options"),
    [
        (1, {}, {}),
        (2, {"wire": "half"}, {"rounds_per_tick": 2}),
        (2, {"batch_rows": 4}, {"policy": Policy(every=2)}),
        (1, {}, {"policy": Policy("event", tolerance=0.1)}),
    ],
)
def test_flow_equals_loop(workers, settings, options):
    source = TextSource([160, 90], 20)
    plan = npsvor_plan(source.names, settings=settings, final_rounds=3, **options)
    compare(run_flow(source, plan, workers=workers), run_loop(source, plan))


class Stopping(Stops, TextSource):
    """Stops the job on its way."""


@pytest.mark.parametrize("workers", [(1, 2), (2, 1)])
def test_a_job_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path, workers):
    init_db_dir(tmp_path, 1)
    source = TextSource([160, 120], 16)
    plan = npsvor_plan(source.names, final_rounds=3, rounds_per_tick=2)
    run_flow(Stopping(source.rows, 16), plan, workers=workers[0], store=tmp_path)
    ran = run_flow(source, plan, workers=workers[1], store=tmp_path)
    assert 0 < ran.hub.restored < 280
    compare(ran, run_loop(source, plan))


@pytest.mark.parametrize("crashes", [0, 4])
def test_sites_end_as_one_job(crashes):
    spread = Spread(
        ((90,), (70,)), graph="ring", source_of=TextSource,
        make=lambda node: NPSVOR(FEATURES, 3, batch_rows=3),
        options={"restore": NPSVOR.restore, "ranks": 3},
    )  # fmt: skip
    truth = spread.reference()
    for site in play(spread, 1, crashes):
        for name, node in site.nodes.items():
            same(node.core.learner.model(), truth.learners[name])


def test_asynchronous_nodes_do_no_worse_than_alone():
    source = TextSource([300, 260], 10)
    plan = npsvor_plan(source.names, mode="asynchronous", final_rounds=20)
    ran = run_flow(source, plan, workers=2)
    row = ran.final_row()
    assert row["samples"] == 560
    assert row["scores"]["MAE"] < ran.final_row("local")["scores"]["MAE"] + 0.02
    assert np.isfinite(row["disagreement"]["max"])  # how small it is, is a matter of time


def test_asynchronous_sites_that_read_the_newest_letters_only_end_with_one_table():
    spread = Spread(
        ((200,), (160,)), graph="ring", source_of=TextSource, final_rounds=30,
        make=lambda node: NPSVOR(FEATURES, 3), options={"restore": NPSVOR.restore, "ranks": 3},
    )  # fmt: skip
    ran = run_sites(
        spread, mode="asynchronous", idle_every=timedelta(seconds=0.02),
        stale_after=timedelta(seconds=5),
    )  # fmt: skip
    finals = [f for site in ran.values() for f in site.finals if f.learner == "cooperative"]
    tables = [NPSVOR.restore(f.model).parameters() for f in finals]
    assert sum(site.final_row()["samples"] for site in ran.values()) == 360
    assert disagreement(tables).max < 1e-2


@pytest.mark.parametrize("wire", ["single", "half", "double"])
def test_letters_carry_messages_of_any_length_bit_for_bit(wire):
    node, source = NPSVOR(FEATURES, 3, wire=wire), TextSource([40], 40)
    block = source.block(0, 0, 0, 40)
    envelope, neighbours = Envelope("run", "graph", "npsvor", "settings"), {"b": ["a"]}
    node.combine(0, {}, {"b": 1.0})
    reader = NPSVOR(FEATURES, 3, wire=wire)
    for start, count in ((0, 1), (1, 0), (1, 30)):
        part = slice(start, start + count)
        node.learn(block.X[part], block.y[part])
        message = node.messages(start)[0]
        letter = Letter("a", "b", start, message)
        arrived = decode_letter(*encode_letter(letter, envelope), envelope, neighbours).message
        assert arrived.to == message.to
        for name, array in message.arrays.items():
            assert arrived.arrays[name].dtype == array.dtype
            assert arrived.arrays[name].tobytes() == array.tobytes()
        reader.combine(start, {"a": arrived}, {"a": 1.0})
        node.combine(start, {}, {"b": 1.0})
    assert reader._table.values.tobytes() == node._table.values.tobytes()
