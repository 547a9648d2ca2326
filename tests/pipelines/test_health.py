"""A job is red for a fault that lasts, and green again when it has passed."""

from typing import Any

import pytest

from pipelines.config import Job, build_job
from pipelines.health import Health, Verdict

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


def status(time: float, **parts: Any) -> Status:
    return {"process": 0, "time": time, "samples": 100, **parts}


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
    assert dead[-1] == Verdict("yellow", ("15 of 30 records became dead letters just now",))
    most = judged(Health(job()), range(0, 20, 5), lambda s: {"samples": 100, "dead": s})
    assert most[-1].state == "red"
    few = judged(Health(job()), range(0, 20, 5), lambda s: {"samples": 100 * s, "dead": s})
    assert few[-1].state == "green"


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
