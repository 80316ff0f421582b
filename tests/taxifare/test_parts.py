"""The trainer's parts that need no backend: its flags, its files, its rank."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from local_cloud import Status
from tests.taxifare.running import started
from trainer import replicas, rides, task

NEEDED = ["--train_data_path", "a", "--eval_data_path", "b", "--output_dir", "out"]
RIDE = "11.5,2014-03-02 20:18:00 UTC,-73.98,40.72,-73.99,40.73,2,0\n"


def test_the_flags_are_those_of_the_course() -> None:
    words = "--batch_size 5 --num_examples_to_train_on 100 --num_evals 1 --nbuckets 10 --lr 0.0001"
    assert task.parse_flags([*NEEDED, *words.split(), "--nnsize", "32 8"]) == {
        "train_data_path": ["a"],
        "eval_data_path": ["b"],
        "output_dir": "out",
        "batch_size": 5,
        "num_examples_to_train_on": 100,
        "num_evals": 1,
        "nbuckets": 10,
        "lr": 0.0001,
        "nnsize": [32, 8],
    }


@pytest.mark.parametrize(
    "words", [["--nnsize", "64 16"], ["--nnsize", "64", "16"], ["--nnsize=64 16"]]
)
def test_the_layers_may_be_one_word_or_several(words: list[str]) -> None:
    assert task.parse_flags([*NEEDED, *words])["nnsize"] == [64, 16]


def test_a_tuner_may_send_whole_numbers_as_doubles() -> None:
    assert task.parse_flags([*NEEDED, "--batch_size=64.0"])["batch_size"] == 64


@pytest.mark.parametrize("words", [["--batch_size", "0"], ["--nbuckets", "2.5"], ["--nnsize", "x"]])
def test_what_is_not_a_whole_number_from_1_up_is_refused(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        task.parse_flags([*NEEDED, *words])


def test_results_go_where_vertex_ai_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIP_MODEL_DIR", "gs://bucket/model/")
    assert task.parse_flags(NEEDED[:4])["output_dir"] == "gs://bucket/model/"


def test_each_trial_of_a_study_writes_into_a_separate_folder(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CLOUD_ML_TRIAL_ID", "3")
    assert task.parse_flags(NEEDED)["output_dir"] == "out/3"
    # The service gives each trial its own.
    monkeypatch.setenv("AIP_MODEL_DIR", "gs://bucket/3/model/")
    assert task.parse_flags(NEEDED[:4])["output_dir"] == "gs://bucket/3/model/"


def test_shards_are_read_by_pattern_or_by_name_each_once(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"taxi-train-{number}.csv").write_text(RIDE * (number + 1))
    pattern, names = str(tmp_path / "taxi-train*"), sorted(map(str, tmp_path.iterdir()))
    for patterns in ([pattern], names, [pattern, *names]):
        assert len(rides.read(patterns).X) == 6
    X, y = rides.read([pattern])
    np.testing.assert_allclose(X[0], [-73.98, 40.72, -73.99, 40.73, 2, 6, 20])  # a Sunday
    assert y[0] == 11.5


def test_shards_in_a_bucket_are_read_by_pattern_and_results_written(cloud: Status) -> None:
    from google.cloud import storage

    bucket = storage.Client().create_bucket("taxi-shards")
    names = ("data/taxi-train-0.csv", "data/taxi-train-1.csv", "data/taxi-valid-0.csv")
    for name in names:
        bucket.blob(name).upload_from_string(RIDE)
    assert len(rides.read(["gs://taxi-shards/data/taxi-train*"]).X) == 2
    rides.write("gs://taxi-shards/out/", {"worker-1/a.json": b"{}"})
    assert bucket.blob("out/worker-1/a.json").download_as_bytes() == b"{}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "give CSV files"),
        ("1,2\n", "2 columns"),
        ("fare_amount," + RIDE.partition(",")[2], "no header"),
        (RIDE.replace("40.72", ""), "values are missing"),
        (RIDE.replace("2014-03-02 20:18:00 UTC", "Sunday"), "no header"),
    ],
)
def test_a_file_that_holds_no_rides_is_refused_by_its_name(
    content: str, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "taxi.csv"
    path.write_text(content)
    with pytest.raises(rides.BadRides, match=said) as refused:
        rides.read([str(path)])
    assert str(path) in str(refused.value)


def test_a_pattern_without_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(rides.BadRides, match="no file has such a name"):
        rides.read([str(tmp_path / "taxi-train*")])


def replica_of(pools: dict[str, int], own: tuple[str, int]) -> replicas.Replica:
    """What a replica finds in CLUSTER_SPEC."""
    cluster = {pool: [f"{pool}-{n}:2222" for n in range(count)] for pool, count in pools.items()}
    spec = {"cluster": cluster, "task": {"type": own[0], "index": own[1]}}
    return replicas.find_replica({"CLUSTER_SPEC": json.dumps(spec)})


def test_the_chief_is_first_and_the_workers_follow() -> None:
    pools = {"workerpool0": 1, "workerpool1": 2}
    assert [replica_of(pools, own).rank for own in (("workerpool0", 0), ("workerpool1", 1))] == [
        0,
        2,
    ]
    assert replica_of(pools, ("workerpool1", 0)) == (1, 3, "workerpool0-0:2222")
    assert replicas.find_replica({}).size == 1


def test_pools_without_a_role_are_refused() -> None:
    with pytest.raises(rides.BadRides, match="workerpool2"):
        replica_of({"workerpool0": 1, "workerpool2": 1}, ("workerpool0", 0))


def test_the_shares_of_all_replicas_are_the_batches_of_one() -> None:
    def batches(rank: int, size: int) -> list[set[int]]:
        share = replicas.shares(50, 12, replicas.Replica(rank, size, ""))
        return [{*map(int, each)} for each in itertools.islice(share, 10)]

    whole, parts = batches(0, 1), [batches(rank, 3) for rank in range(3)]
    for batch, *shares in zip(whole, *parts, strict=True):
        assert set.union(*shares) == batch and [len(share) for share in shares] == [4, 4, 4]


def test_a_batch_that_cannot_be_shared_evenly_is_refused() -> None:
    with pytest.raises(rides.BadRides, match="multiple of 3"):
        next(replicas.shares(50, 16, replicas.Replica(0, 3, "")))


def test_a_refusal_is_one_sentence(tmp_path: Path) -> None:
    process = started([*NEEDED[:4], "--output_dir", str(tmp_path)])
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    assert said == "trainer.task: a: no file has such a name; check it\n"
