"""Nothing depends on the order of sets, on hash(), or on the number of BLAS threads."""

import os
import subprocess
import sys

SCRIPT = """
import hashlib, numpy as np
from anabranch.exchange import Policy
from anabranch.learners import make
from anabranch.network import build_graph, combination_weights, node_names, restrict
from anabranch.placement import Placement
from anabranch.simulate import simulate
from anabranch.stream import Block
from anabranch.synthetic import nonlinear

graph = build_graph("random", node_names(6), degree=3, seed=1)
weights = restrict(combination_weights(graph), {"n00", "n01", "n02", "n03", "n04", "n05"})
stream, digest = nonlinear(seed=1), hashlib.sha256()
place = Placement(graph.nodes, "hash", ("p",))
X, y = stream.block(0, 400)
ticks = []
for t in range(8):
    rows = slice(50 * t, 50 * t + 50)
    shares = place.shares(Block("p", t, X[rows], y[rows], np.arange(400)[rows]))
    ticks.append({name: (share.X, share.y) for name, share in shares.items()})
for kind in ("dsvor", "dsvor-batch"):
    nodes = {n: make(kind, 2, 4, warm_up=3, dimension=40, names=["u", "v"]) for n in graph.nodes}
    policy = Policy("event", tolerance=0.05, always_until=3)
    run = simulate(nodes, weights, ticks, final_rounds=2, policy=policy)
    digest.update(repr((graph.hash(), graph.edges, run.messages, run.bytes)).encode())
    for name in graph.nodes:
        digest.update(nodes[name].parameters().tobytes())
print(digest.hexdigest())
"""


def run(hash_seed: str, threads: str) -> str:
    own = {"PYTHONHASHSEED": hash_seed, "OPENBLAS_NUM_THREADS": threads}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **own}, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    return done.stdout


def test_two_processes_end_with_the_same_bits() -> None:
    assert run("1", "1") == run("4242", "2")
