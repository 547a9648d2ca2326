"""Jobs without processes behind them, whose networks change."""

from pathlib import Path

from pipelines.config import Job, load_job
from pipelines.control.desk import Desk
from pipelines.control.lines import FileLines
from pipelines.networks import read_networks
from pipelines.rewiring import settle_networks
from pipelines.run_dir import RunDirectory


def resolve(folder: Path, *more: str) -> Job:
    own = [f"job.run_dir={folder / 'run'}", f"recovery.dir={folder / 'state'}"]
    network = ["network.nodes=4", "network.graph=ring"]
    return load_job(None, [*own, *network, f"network.control={folder / 'c.jsonl'}", *more])


def prepared(folder: Path, *more: str) -> tuple[Job, RunDirectory]:
    job = resolve(folder, *more)
    run = RunDirectory.of(job)
    run.prepare(job, networks=settle_networks(job, None, ["p"], print).to_json())
    return job, run


def desk(job: Job, run: RunDirectory, said: list[str]) -> Desk:
    lines = FileLines(Path(str(job.network.control)), said.append)
    return Desk(job, run, lines, ["p"], said.append, said.append)


def ask(folder: Path, *lines: str) -> None:
    with (folder / "c.jsonl").open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


def steps(run: RunDirectory) -> list[tuple[int, int, int]]:
    found = read_networks(run.networks)
    assert found is not None
    return [(era.round, len(era.nodes), len(era.edges)) for era in found.eras]


JOIN = '{"join": "n20", "neighbours": ["n00", "n02"]}'
