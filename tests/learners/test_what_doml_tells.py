"""Parameters are no proof of privacy: what a neighbour can compute from DOML's messages."""

from itertools import pairwise

import numpy as np

from anabranch.learners import DOML
from anabranch.protocol import Array, Message

FIELDS, LABELS = 6, 2
Told = tuple[Message, Message]


def exchange(node: DOML, spy: DOML, rounds: range) -> list[Told]:
    """Let the two exchange, and give what each said."""
    log = []
    for t in rounds:
        (own,), (heard,) = node.messages(t), spy.messages(t)
        node.combine(t, {"spy": heard}, {"spy": 1.0})
        spy.combine(t, {"node": own}, {"node": 1.0})
        log.append((own, heard))
    return log


def solved(log: list[Told]) -> tuple[Array, Array]:
    """Solve for X'X and X'Y: (X'X) P+ - X'Y = P + beta_spy - (beta - P_spy) - 2 P+."""
    rows, right = [], []
    for (before, heard), (after, _) in pairwise(log):
        P, beta = before.arrays["P"], before.arrays["beta"]
        known = P + heard.arrays["beta"] - (beta - heard.arrays["P"])
        new = after.arrays["P"]
        for i, j in np.ndindex(FIELDS, LABELS):
            gram = np.zeros((FIELDS, FIELDS))
            gram[i] += new[:, j] / 2.0
            gram[:, i] += new[:, j] / 2.0  # X'X is symmetric
            cross = np.zeros((FIELDS, LABELS))
            cross[i, j] = -1.0
            rows.append(np.concatenate([gram.ravel(), cross.ravel()]))
            right.append((known - 2.0 * new)[i, j])
    found = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
    squares = FIELDS * FIELDS
    return found[:squares].reshape(FIELDS, FIELDS), found[squares:].reshape(FIELDS, LABELS)


def test_a_neighbour_who_keeps_all_messages_computes_a_new_sample() -> None:
    rng = np.random.default_rng(0)
    node, spy = (DOML(FIELDS, labels=LABELS, literal=True) for _ in range(2))
    for one in (node, spy):
        one.learn(rng.normal(size=(15, FIELDS)), (rng.random((15, LABELS)) > 0.5).astype(float))
    rounds = FIELDS // LABELS + 3
    gram, cross = solved(exchange(node, spy, range(rounds)))
    x, y = rng.normal(size=(1, FIELDS)), np.array([[1.0, 0.0]])
    node.learn(x, y)
    more_gram, more_cross = solved(exchange(node, spy, range(rounds, 2 * rounds)))
    values, vectors = np.linalg.eigh(more_gram - gram)
    guess = vectors[:, -1] * np.sqrt(values[-1])
    guess *= np.sign(guess @ x[0])
    assert np.abs(guess - x[0]).max() < 1e-6
    labels = guess @ (more_cross - cross) / (guess @ guess)
    assert np.abs(labels - y[0]).max() < 1e-6
