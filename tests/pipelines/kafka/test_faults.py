"""What a job says and does when its brokers, topics or neighbours fail it."""

import json
import time
from pathlib import Path

import pytest

from pipelines.run_dir import RunDirectory
from tests.brokers.client import Kafka, fresh_name
from tests.pipelines.jobs import finish, models, round_of, start, wait_for
from tests.pipelines.kafka.jobs import fill, predictions, records, settings

ENDLESS = ["source.until_end=false", "exchange.mode=asynchronous"]


def samples(folder: Path) -> int:
    status = RunDirectory(folder / "run").read_status() or {}
    return int(status.get("samples", 0))


def test_no_broker_at_start_is_told_with_its_address(tmp_path: Path) -> None:
    job = ['kafka.brokers=["localhost:1"]', "source.kind=kafka", 'source.topics=["t"]']
    begin = time.monotonic()
    printed = finish(start(tmp_path, settings=[*job, "learner.ranks=4"]), code=2)
    assert "localhost:1" in printed
    assert "Traceback" not in printed
    assert time.monotonic() - begin < 30  # 15 s, and what starting Python takes
    assert not (tmp_path / "run").exists()


def test_a_topic_that_is_not_there_is_told(tmp_path: Path, kafka: Kafka) -> None:
    printed = finish(start(tmp_path, settings=settings(kafka, ["no-such-topic"])), code=2)
    assert "source.topics names 'no-such-topic', which is not there" in printed


def test_an_empty_topic_cannot_name_its_features(tmp_path: Path, kafka: Kafka) -> None:
    job = settings(kafka, [kafka.topic()], "source.features=")
    assert "source.features is none" in finish(start(tmp_path, settings=job), code=2)


def test_brokers_that_go_away_come_back(tmp_path: Path, private_kafka: Kafka) -> None:
    kafka = private_kafka
    topic, out = kafka.topic(2), kafka.topic()
    running = start(
        tmp_path, settings=settings(kafka, [topic], *ENDLESS, f"output.predictions=kafka:{out}")
    )
    kafka.produce(topic, records(300))
    wait_for(lambda: samples(tmp_path) == 300)
    kafka.broker.kill()
    time.sleep(10)
    kafka.broker.start()
    kafka.produce(topic, records(300, 300))
    wait_for(lambda: samples(tmp_path) == 600)
    kafka.read(out, count=600, timeout=60)
    running.terminate()
    finish(running)
    assert len(predictions(kafka, out)) == 600


def test_a_deleted_topic_stops_the_job_with_a_sentence(tmp_path: Path, apache_kafka: Kafka) -> None:
    kafka = apache_kafka
    topic = fill(kafka, partitions=1, count=120)
    running = start(tmp_path, settings=settings(kafka, [topic], *ENDLESS))
    wait_for(lambda: samples(tmp_path) == 120)
    kafka.delete(topic)
    printed = finish(running, code=5)
    assert f"topic {topic!r} was deleted" in printed
    assert "Traceback" not in printed
    assert "restarting" not in printed


def test_a_topic_made_anew_is_not_taken_for_the_old_one(
    tmp_path: Path, apache_kafka: Kafka
) -> None:
    kafka = apache_kafka
    topic = fill(kafka, partitions=1, count=120)
    job = settings(kafka, [topic], *ENDLESS)
    running = start(tmp_path, settings=job)
    wait_for(lambda: samples(tmp_path) == 120)
    running.terminate()
    finish(running)
    kafka.delete(topic)
    wait_for(lambda: topic not in kafka.topics())
    kafka.topic(name=topic)
    kafka.produce(topic, records(240))
    printed = finish(start(tmp_path, "--resume", settings=job), code=2)
    assert "was deleted and made anew" in printed


@pytest.mark.parametrize("rule", ["stop", "earliest"])
def test_records_deleted_by_retention(tmp_path: Path, apache_kafka: Kafka, rule: str) -> None:
    kafka = apache_kafka
    topic = fill(kafka, partitions=1, count=240)
    job = settings(kafka, [topic], *ENDLESS, f"source.on_expired={rule}")
    running = start(tmp_path, settings=job)
    wait_for(lambda: samples(tmp_path) == 240)
    running.terminate()
    finish(running)
    kafka.produce(topic, records(240, 240))
    kafka.expire(topic, 0, 360)
    again = start(tmp_path, "--resume", settings=job)
    if rule == "stop":
        printed = finish(again, code=5)
        assert "source.on_expired" in printed
        return
    wait_for(lambda: samples(tmp_path) == 360)
    again.terminate()
    assert "120" in finish(again)  # records skipped, and said so


def test_an_output_that_is_too_large_is_told(tmp_path: Path, apache_kafka: Kafka) -> None:
    kafka = apache_kafka
    topic, small = kafka.topic(), kafka.topic(max_message_bytes="150")
    kafka.produce(topic, records(12))
    job = settings(kafka, [topic], f"output.predictions=kafka:{small}", "output.margins=true")
    printed = finish(start(tmp_path, settings=job), code=5)
    assert f"record for topic {small!r} is" in printed


def test_health_over_http_turns_red_and_green_again(tmp_path: Path, private_kafka: Kafka) -> None:
    kafka = private_kafka
    topic = fill(kafka, partitions=1, count=120)
    port = _free_port()
    running = start(tmp_path, "--http", str(port), settings=settings(kafka, [topic], *ENDLESS))
    wait_for(lambda: samples(tmp_path) == 120)
    wait_for(lambda: _health(port)[0] == 200)
    kafka.broker.stop()
    wait_for(lambda: _health(port)[0] == 503, seconds=45)
    assert "cannot be read" in _health(port)[1]["reasons"][0]
    kafka.broker.start()
    wait_for(lambda: _health(port)[0] == 200, seconds=45)
    assert f'anabranch_source_lag{{partition="0",topic="{topic}"}} 0.0' in _get(port, "/metrics")[1]
    running.terminate()
    printed = finish(running)
    assert printed.index("health is red") < printed.index("health is green")


def _free_port() -> int:
    from pipelines.supervise import free_ports

    return free_ports(1)[0]


def _get(port: int, page: str) -> tuple[int, str]:
    from urllib.error import HTTPError, URLError
    from urllib.request import urlopen

    try:
        with urlopen(f"http://127.0.0.1:{port}{page}", timeout=5) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()
    except URLError:
        return 0, "{}"


def _health(port: int) -> tuple[int, dict[str, list[str]]]:
    code, text = _get(port, "/health")
    return code, json.loads(text)


def test_a_neighbour_that_never_comes_is_told(tmp_path: Path, kafka: Kafka) -> None:
    topic, letters = fill(kafka, partitions=1, count=120), fresh_name()
    here = ["exchange.transport=kafka", "sites.here=a", f"sites.topic={letters}"]
    hosts = 'sites.nodes={a=["n00","n01","n02"], b=["n03","n04","n05"]}'
    running = start(tmp_path, settings=settings(kafka, [topic], *here, hosts))
    lines: list[str] = []
    assert running.stdout is not None
    for line in running.stdout:
        lines.append(line.decode())
        if "site b has been silent" in lines[-1]:
            break
    running.kill()
    running.communicate()
    assert "health is red" in lines[-1]
    assert round_of(tmp_path) == -1
    assert models(tmp_path) == {}
