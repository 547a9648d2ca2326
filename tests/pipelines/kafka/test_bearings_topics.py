"""Raw vibration from a topic a sensor: what files give, and alarms to a topic."""

import json
from operator import itemgetter
from pathlib import Path

import pytest

from anabranch.synthetic_vibration import vibration
from pipelines.run_dir import read_lines
from tests.brokers.client import Kafka
from tests.pipelines.jobs import finish, models, start

# Noise is drawn by the partition's name, so without it topics and files have the same features.
SENSORS, SAMPLES, WINDOW = 2, 25, 250
SETTINGS = [
    "source.label=level",
    f"source.rows_per_tick={WINDOW // SAMPLES}",
    f"signal.window={WINDOW}",
    "signal.trials=1",
    "signal.noise=0",
    f"signal.samples={SAMPLES}",
    "learner.ranks=2",
    "learner.warm_up=2",
    "learner.dimension=40",
    f"network.nodes={SENSORS}",
    "network.graph=path",
    "exchange.mode=synchronous",
    "alarm.rise=1",
    "alarm.stay=2",
    "evaluation.companions=[]",
    "output.report=false",
]


def records(sensor: int) -> list[list[float]]:
    """Give records of many samples and the severity, sound and worn by turns."""
    found = []
    for turn, level in enumerate((1, 4, 1, 4)):
        signal = vibration(level, 12 * WINDOW, seed=10 * turn + sensor)
        rows = signal.round(4).reshape(-1, SAMPLES).tolist()
        found.extend([*row, 1 + (level > 1)] for row in rows)
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same job over files."""
    folder = tmp_path_factory.mktemp("files")
    names = ",".join([*(f"s{number:02d}" for number in range(SAMPLES)), "level"])
    for sensor in range(SENSORS):
        lines = [",".join(map(str, row)) for row in records(sensor)]
        (folder / f"s{sensor}.csv").write_text("\n".join([names, *lines, ""]))
    paths = json.dumps([str(folder / f"s{sensor}.csv") for sensor in range(SENSORS)])
    finish(start(folder, settings=[*SETTINGS, "source.kind=csv", f"source.paths={paths}"]))
    return folder


def test_a_topic_a_sensor_gives_what_files_give(tmp_path: Path, kafka: Kafka, files: Path) -> None:
    names = sorted(kafka.topic() for _ in range(SENSORS))
    for sensor, name in enumerate(names):
        kafka.produce(name, [json.dumps(row).encode() for row in records(sensor)])
    alarms = kafka.topic()
    topics = [
        "source.kind=kafka", "source.until_end=true", f"source.topics={json.dumps(names)}",
        f"kafka.brokers={json.dumps(kafka.brokers)}", f"output.alarms=kafka:{alarms}",
    ]  # fmt: skip
    finish(start(tmp_path, settings=[*SETTINGS, *topics]))
    assert models(tmp_path) == models(files)
    told = [json.loads(record.value) for record in kafka.read(alarms)]
    assert all(alarm.pop("time") > 0 for alarm in told), "messages have times"
    wanted = list(read_lines(files / "run" / "alarms.jsonl"))
    assert wanted
    for alarm in wanted:
        assert alarm.pop("time") is None
        alarm["partition"] = f"{names[int(alarm['partition'][1])]}:0"
    order = itemgetter("node", "at")
    assert sorted(told, key=order) == sorted(wanted, key=order)
