"""A job is red for a fault that lasts, and green again when it has passed."""

from typing import Any

import pytest

from operators.hub import Hub
from pipelines.config import Job, build_job
from pipelines.gauges import Gauges
from pipelines.health import Health, Verdict
from pipelines.live.records import EdgeNow, Now

Status = dict[str, Any]
BEGIN = 1e9


def job(**exchange: Any) -> Job:
    return build_job(
        {
            "source": {
                "kind": "kafka",
                "topics": ["t"],
                "features": ["a"],
                "rows_per_tick": 5,
            },
            "kafka": {"brokers": ["localhost:9092"]},
            "network": {"nodes": ["p", "q"], "graph": "complete"},
            "learner": {"kind": "dsvor", "ranks": 3},
            "exchange": exchange,
        }
        | (
            {"sites": {"here": "east", "nodes": {"east": ["p"], "west": ["q"]}}}
            if exchange.get("transport") == "kafka"
            else {}
        )
    )


def status(clock: float, **parts: Any) -> Status:
    """Make up what a process tells; it may lack keys, but has none that processes do not tell."""
    told = Gauges(Hub(0, 1, 1, {})).read().keys() | {"process", "seconds", "started", "rows_total"}
    assert told.issuperset(parts)
    return {"process": 0, "clock": clock, "samples": 100, **parts}


def part(offset: int, lag: int, error: str | None = None) -> Status:
    return {"partitions": {"t:0": {"offset": offset, "lag": lag, "error": error}}}


def judged(health: Health, seconds: range, make: Any) -> list[Verdict]:
    return [health.judge([status(BEGIN + s, **make(s))], BEGIN + s) for s in seconds]


def test_progress_is_green_and_so_is_a_source_with_nothing_to_read() -> None:
    moving = judged(Health(job()), range(0, 100, 5), lambda s: part(s, 1000))
    idle = judged(Health(job()), range(0, 100, 5), lambda s: part(7, 0))
    assert {verdict.state for verdict in (*moving, *idle)} == {"green"}


def test_standing_still_with_records_to_read_turns_red_within_half_a_minute_and_back() -> None:
    health = Health(job())
    stuck = judged(health, range(0, 31, 5), lambda s: part(7, 10 + s))
    assert stuck[0].state == "green"
    assert stuck[-1].state == "red"
    assert "partition t:0 stands at offset 7 for 30 s, 40 records behind" in stuck[-1].reasons
    again = judged(health, range(35, 40, 5), lambda s: part(8, 45))
    assert again[-1] == Verdict("green")


def test_a_job_that_has_just_begun_may_be_compiling() -> None:
    verdicts = judged(Health(job()), range(0, 100, 5), lambda s: part(7, 10) | {"seconds": s})
    assert {verdict.state for verdict in verdicts[:-1]} == {"green"}
    assert verdicts[-1].state == "red"


@pytest.mark.parametrize(("lag", "state"), [(4, "green"), (5, "red")])
def test_a_tick_half_full_is_no_standstill_in_synchronous_time(lag: int, state: str) -> None:
    verdicts = judged(Health(job(mode="synchronous")), range(0, 60, 5), lambda s: part(7, lag))
    assert verdicts[-1].state == state


def test_an_error_that_lasts_is_told_once_it_lasts() -> None:
    health = Health(job())
    verdicts = judged(health, range(0, 31, 5), lambda s: part(7, 1, "the brokers do not answer"))
    assert verdicts[1].state == "green"
    assert verdicts[-1].reasons == ("partition t:0 cannot be read: the brokers do not answer",)
    assert judged(health, range(35, 36), lambda s: part(8, 0))[-1].state == "green"


def test_an_output_that_cannot_be_written() -> None:
    broken = {"outputs": {"out": {"queued": 5, "sent": 0, "error": "not authorised"}}}
    verdicts = judged(Health(job()), range(0, 31, 5), lambda s: broken)
    assert verdicts[-1].reasons == ("topic out cannot be written: not authorised",)
    assert verdicts[-1].state == "red"


def test_a_process_that_says_nothing_is_lost() -> None:
    verdict = Health(job()).judge([status(BEGIN - 12)], BEGIN)
    assert verdict == Verdict("red", ("process 0 has not been heard of for 12 s",))
    assert Health(job()).judge([], BEGIN).state == "yellow"


@pytest.mark.parametrize(("mode", "state"), [("synchronous", "red"), ("asynchronous", "yellow")])
def test_a_silent_site(mode: str, state: str) -> None:
    sites = job(mode=mode, transport="kafka")
    silent = {"sites": {"west": {"silent": 40.0, "ended": False}}}
    ended = {"sites": {"west": {"silent": 40.0, "ended": True}}}
    assert judged(Health(sites), range(1), lambda s: silent)[-1].state == state
    assert judged(Health(sites), range(1), lambda s: ended)[-1].state == "green"
    never = judged(Health(sites), range(0, 31, 5), lambda s: {})
    assert (never[0].state, never[-1].state) == ("green", state)


def test_refused_messages_and_many_dead_letters_are_yellow_until_they_cease() -> None:
    health = Health(job())
    refused = judged(health, range(0, 20, 5), lambda s: {"refused": {"other_run": s}})
    (reason,) = refused[-1].reasons
    assert reason == "15 messages of other nodes were refused in the last minute: other_run"
    waits = Health(job(mode="synchronous"))
    stuck = judged(waits, range(0, 20, 5), lambda s: {"refused": {"other_run": s}})
    assert (refused[-1].state, stuck[-1].state) == ("yellow", "red")
    calm = judged(health, range(20, 100, 5), lambda s: {"refused": {"other_run": 15}})
    assert calm[-1].state == "green"
    dead = judged(Health(job()), range(0, 20, 5), lambda s: {"samples": 100 + s, "dead": s})
    assert dead[1] == Verdict("green")  # five are no news, whatever their share
    assert dead[-1] == Verdict("yellow", ("15 of 30 records became dead letters just now",))
    most = judged(Health(job()), range(0, 20, 5), lambda s: {"samples": 100, "dead": s})
    assert most[-1].state == "red"
    few = judged(Health(job()), range(0, 20, 5), lambda s: {"samples": 100 * s, "dead": s})
    assert few[-1].state == "green"


def test_a_share_of_dead_letters_at_the_limit_does_not_change_health_every_second() -> None:
    health, totals = Health(job()), {"samples": 0, "dead": 0}
    parts = (9, 11, 9, 7, 9, 51, 45, 35, 45, 5)  # of a hundred records a second
    found = []
    for number, bad in enumerate(parts):
        for second in range(60):
            totals = {"samples": totals["samples"] + 100 - bad, "dead": totals["dead"] + bad}
            now = BEGIN + 60 * number + second
            verdict = health.judge([{**status(now), **totals}], now)
        found.append(verdict.state)
    assert found == [
        "green", "yellow", "yellow", "green", "green", "red", "red", "yellow", "yellow", "green"
    ]  # fmt: skip


def test_dead_letters_while_what_was_learned_is_learned_again_after_a_crash() -> None:
    health = Health(job())
    states = [
        health.judge([{**status(BEGIN + s), "samples": samples, "dead": dead}], BEGIN + s).state
        for s, (samples, dead) in enumerate([(100, 5), (80, 25), (60, 35)])
    ]
    assert states == ["green", "red", "red"]


@pytest.mark.parametrize("reason", ["label_never_came", "no_window", "absent_node", "malformed"])
def test_letters_of_records_that_were_used_are_no_bad_input(reason: str) -> None:
    verdicts = judged(
        Health(job()), range(0, 200, 5), lambda s: {"dead": s, "reasons": {reason: s}}
    )
    assert verdicts[-1].state == ("red" if reason == "malformed" else "green")


@pytest.mark.parametrize(
    ("nodes", "reason"),
    [
        (["n03"], "node 'n03' diverges; damped"),
        (["n03", "n01"], "nodes 'n01', 'n03' diverge; damped"),
        (list("edcba"), "nodes 'a', 'b', 'c' and 2 more diverge; damped"),
    ],
)
def test_nodes_that_diverge_are_named_until_they_no_longer_do(
    nodes: list[str], reason: str
) -> None:
    health = Health(job())
    first, after = judged(health, range(2), lambda s: {"diverging": [] if s else nodes})
    assert first == Verdict("yellow", (reason,))
    assert after == Verdict("green")


def test_the_literal_algorithm_is_not_damped() -> None:
    source, learner = {"kind": "labelled", "rows": 100}, {"kind": "doml", "literal": True}
    literal = build_job({"source": source, "learner": learner})
    (verdict,) = judged(Health(literal), range(1), lambda s: {"diverging": ["n03"]})
    assert verdict == Verdict("yellow", ("node 'n03' diverges; not damped",))


def test_a_node_whose_parameters_are_not_finite_is_red_and_no_longer_damped() -> None:
    told = {"diverged": ["n03"], "diverging": ["n03", "n04"]}
    first, after = judged(Health(job()), range(2), lambda s: {} if s else told)
    assert first.state == "red"
    assert first.reasons == (
        "node 'n03' has diverged: parameters that are not finite",
        "node 'n04' diverges; damped",
    )
    assert after == Verdict("green")


def restarted(health: Health, *, planned: bool = False, **parts: Any) -> list[Verdict]:
    """Judge before and after a start 5 s after the loss; what it has learned comes at 10 s."""
    health.lost("process 0 was killed by SIGKILL", BEGIN, planned=planned)
    found = []
    for second in range(15):
        known = status(BEGIN - 1) if second < 5 else status(BEGIN + second, seconds=second - 5)
        found.append(health.judge([{**known, **(parts if second >= 10 else {})}], BEGIN + second))
    return found


@pytest.mark.parametrize("parts", [{"learned": 1}, {"messages": 3}, part(7, 0)])
def test_a_process_that_died_is_red_until_progress_is_made_again(parts: Status) -> None:
    verdicts = restarted(Health(job()), **parts)
    assert [verdict.state for verdict in verdicts] == ["red"] * 10 + ["green"] * 5
    assert verdicts[0].reasons == (
        "process 0 was killed by SIGKILL; started again, and no progress yet",
    )


def test_samples_learned_before_the_loss_are_no_progress() -> None:
    health = Health(job())
    health.lost("process 0 was killed by SIGKILL", BEGIN)
    before = status(BEGIN - 1, seconds=59.0, learned=100, messages=9)
    assert health.judge([before], BEGIN + 1).state == "red"


def test_a_restart_that_was_planned_is_yellow_and_its_old_processes_are_not_missed() -> None:
    states = [v.state for v in restarted(Health(job()), planned=True, learned=1)]
    assert states == ["yellow"] * 10 + ["green"] * 5
    late = Health(job())
    late.lost("the network changes", BEGIN, planned=True)
    assert late.judge([status(BEGIN - 1)], BEGIN + 60).state == "yellow"
    assert late.judge([status(BEGIN - 1)], BEGIN + 120).state == "red"


def test_processes_that_never_start_are_yellow_and_then_red() -> None:
    health = Health(job())
    states = [health.judge([], BEGIN + second).state for second in (0, 60, 120)]
    assert states == ["yellow", "yellow", "red"]


def test_a_silent_site_is_no_fault_while_nobody_waits_for_it() -> None:
    """In synchronous time nobody speaks when no node has samples."""
    health = Health(job(mode="synchronous", transport="kafka"))
    silent = {"sites": {"west": {"silent": 40.0, "ended": False}}}
    idle, awaited = judged(health, range(2), lambda s: silent | {"waiting": s})
    assert (idle.state, awaited.state) == ("green", "red")


def test_kernels_that_were_used_are_compiled() -> None:
    busy = {"seconds": 10, "learned": 5, "messages": 5}
    verdicts = judged(Health(job()), range(0, 31, 5), lambda s: part(7, 10) | busy)
    assert verdicts[-1].state == "red"


def heard(ages: dict[tuple[str, str], float]) -> Now:
    return Now(0, BEGIN, edges=[EdgeNow(*pair, age, 1, 1) for pair, age in ages.items()])


def test_a_neighbour_that_is_silent_is_named_in_asynchronous_time() -> None:
    known = [status(BEGIN, seconds=200.0)]
    lively = heard({("p", "q"): 19.0, ("q", "p"): 1.0})
    one, never = heard({("p", "q"): 25.0, ("q", "p"): 1.0}), heard({("p", "q"): -1.0})
    health = Health(job())
    assert health.judge(known, BEGIN, [lively]) == Verdict("green")
    found = health.judge(known, BEGIN, [one])
    assert found == Verdict("yellow", ("node 'q' has not heard 'p' for 25 s",))
    assert health.judge(known, BEGIN, [never]).reasons == ("node 'q' has not heard 'p' for 200 s",)
    assert health.judge([status(BEGIN, seconds=20.0)], BEGIN, [never]) == Verdict("green")
    assert Health(job(mode="synchronous")).judge(known, BEGIN, [one]) == Verdict("green")


def test_a_source_without_a_lag_that_stands_still_is_yellow() -> None:
    health = Health(build_job({"source": {"kind": "nonlinear", "rows": 100}}))
    stuck = judged(health, range(0, 70, 5), lambda s: {"rounds": [4, 5]})
    assert (stuck[0].state, stuck[-2].state, stuck[-1].state) == ("green", "green", "yellow")
    assert stuck[-1].reasons == ("no sample was learned and no round done for 65 s",)
    assert judged(health, range(70, 71), lambda s: {"rounds": [5, 5]})[-1] == Verdict("green")
