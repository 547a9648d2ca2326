"""Run the flows of several sites in threads of this process."""

import threading
from dataclasses import replace

import bytewax.operators as op
from bytewax.dataflow import Dataflow
from bytewax.testing import TestingSink, cluster_main, run_main

from operators.learn import learn_on_network, make_hub
from tests.operators.flows import Ran, with_pooled
from tests.operators.letter_log import MemoryLog


def run_sites(spread, *, workers=1, only=None, logs=None, ticks_ahead=4, timeout=60, **options):
    """Run each site's flow to its end; gives what each gave, by site."""
    logs = logs or [MemoryLog(), MemoryLog()]
    ran = {site: Ran() for site in only or spread.sites}
    threads, failures = [], []
    for site, out in ran.items():
        flow = _flow(spread, site, logs, out, workers, ticks_ahead, options)
        threads.append(threading.Thread(target=_run, args=(flow, workers, failures), daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout)
    assert not failures
    assert not any(thread.is_alive() for thread in threads), "a site does not end"
    return ran


def _flow(spread, site, logs, ran, workers, ticks_ahead, options):
    plan = with_pooled(replace(spread.plan(site), **options))
    ran.hub = make_hub(plan.placement, workers=workers, lone=plan.lone)
    flow = Dataflow("toy")
    out = learn_on_network(
        flow, spread.site_source(site), plan, ran.hub, ticks_ahead=ticks_ahead,
        link=spread.link(site, logs),
    )  # fmt: skip
    op.output("to_finals", out.finals, TestingSink(ran.finals))
    op.output("to_rows", out.rows, TestingSink(ran.rows))
    op.output("to_dead", out.dead, TestingSink(ran.dead))
    return flow


def _run(flow, workers, failures):
    try:
        if workers == 1:
            run_main(flow)
        else:
            cluster_main(flow, [], 0, worker_count_per_proc=workers)
    except BaseException as failure:  # the engine's panics are no Exception
        failures.append(failure)
