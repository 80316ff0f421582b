"""A job's folders and S3: channels, checkpoints and events."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.amazon.sagemaker.jobs.test_endings import begun
from tests.amazon.sagemaker.support import BUCKET, channel, go, running


class TestCheckpoints:
    @pytest.mark.parametrize("where", [None, "/opt/ml/state", "/var/elsewhere/state"])
    def test_the_folder_and_s3_are_one(self, tmp_path: Path, how: str, where: str | None) -> None:
        local = where or "/opt/ml/checkpoints"
        script = f"""
import pathlib, time
folder = pathlib.Path("{local}")
print([p.name for p in folder.iterdir()])
(folder / "epoch-1").write_text((folder / "epoch-0").read_text() + "+")
print("begun", flush=True)
while not (folder / "go").exists(): time.sleep(0.02)
"""

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sagemaker.put("ckpt/epoch-0", "old")
                config = {"S3Uri": f"s3://{BUCKET}/ckpt/"} | ({"LocalPath": where} if where else {})
                name = sagemaker.send(script=script, CheckpointConfig=config)
                await begun(sagemaker, name)
                assert sagemaker.read("ckpt/epoch-1") == b"old+"  # while the job runs
                sagemaker.put("ckpt/go", "")
                await sagemaker.end(name)
                assert sagemaker.keys("ckpt/") == ["ckpt/epoch-0", "ckpt/epoch-1", "ckpt/go"]

        go(story())

    def test_what_cannot_be_one_folder_is_refused(self, tmp_path: Path) -> None:
        configs = [
            {"S3Uri": f"s3://{BUCKET}/a/../../b"},
            {"S3Uri": f"s3://{BUCKET}/a//b"},
            {"S3Uri": f"s3://{BUCKET}//a"},
            {"S3Uri": f"s3://{BUCKET}/scripts/job-3/task.py"},
            {"S3Uri": f"s3://{BUCKET}/scripts/job-4/task.py/below"},
            {"S3Uri": f"s3://{BUCKET}/a", "LocalPath": "/opt/ml/input/config"},
            {"S3Uri": f"s3://{BUCKET}/a", "LocalPath": "/opt/ml"},
            {"S3Uri": f"s3://{BUCKET}/a", "LocalPath": "relative"},
            {"S3Uri": f"s3://{BUCKET}/a", "LocalPath": "/opt/ml/../../etc/.."},
        ]

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                for number, config in enumerate(configs):
                    name = sagemaker.send(f"job-{number}", CheckpointConfig=config)
                    job = await sagemaker.end(name, "Failed")
                    assert job["FailureReason"].startswith("ClientError: CheckpointConfig."), config

        go(story())


class TestEvents:
    @pytest.mark.parametrize("where", [None, "/opt/ml/logs/events", "/var/events"])
    def test_reach_s3_while_the_job_runs(self, tmp_path: Path, how: str, where: str | None) -> None:
        local = where or "/opt/ml/output/tensorboard"
        script = f"""
import pathlib, time
run = pathlib.Path("{local}") / "run"
run.mkdir()
with (run / "events.out.tfevents.1").open("w") as events:
    print("first", end=" ", file=events, flush=True)
    print("begun", flush=True)
    while not (run / "go").exists(): time.sleep(0.02)
    print("last", file=events, end="")
"""

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                config = {"S3OutputPath": f"s3://{BUCKET}/tb/"}
                config |= {"LocalPath": where} if where else {}
                name = sagemaker.send(script=script, TensorBoardOutputConfig=config)
                await begun(sagemaker, name)
                below = f"tb/{name}/tensorboard-output/run"
                assert sagemaker.read(f"{below}/events.out.tfevents.1") == b"first "
                sagemaker.put(f"{below}/go", "")
                job = await sagemaker.end(name)
                assert sagemaker.read(f"{below}/events.out.tfevents.1") == b"first last"
                assert job["TensorBoardOutputConfig"] == config
                archives = sagemaker.keys("out/")
                assert not archives, "events are not output data, too"

        go(story())

    def test_have_a_folder_of_their_own(self, tmp_path: Path) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                both = {
                    "CheckpointConfig": {"S3Uri": f"s3://{BUCKET}/a", "LocalPath": "/opt/ml/x"},
                    "TensorBoardOutputConfig": {
                        "S3OutputPath": f"s3://{BUCKET}/b",
                        "LocalPath": "/opt/ml/x",
                    },
                }
                job = await sagemaker.run("pass", status="Failed", **both)
                said = "ClientError: TensorBoardOutputConfig.LocalPath: /opt/ml/x has another use"
                assert job["FailureReason"].startswith(said)

        go(story())


class TestChannels:
    def test_a_prefix_names_what_begins_with_it(self, tmp_path: Path) -> None:
        script = """
import pathlib
root = pathlib.Path("/opt/ml/input/data/train")
for path in root.rglob("*"):
    if path.is_file() and "task.py" not in path.name:
        (pathlib.Path("/opt/ml/model") / str(path.relative_to(root)).replace("/", "|")).touch()
"""
        found = {
            "": ["train.csv", "train|a", "train|b|c"],  # first: no job has left a model yet
            "train": ["a", "b|c", "train.csv"],  # `train/` itself is the folder that was named
            "train/": ["a", "b|c"],
            "train/a": ["a"],
        }

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                for key in ("train/a", "train/b/c", "train.csv"):
                    sagemaker.put(key, "")
                for number, (prefix, files) in enumerate(found.items()):
                    train = channel("train", f"s3://{BUCKET}/{prefix}")
                    name = sagemaker.send(f"job-{number}", script, InputDataConfig=[train])
                    await sagemaker.end(name)
                    model = sagemaker.archive(f"out/{name}/output/model.tar.gz")
                    assert sorted(model) == files, prefix

        go(story())

    def test_shards_are_all_of_it_together(self, tmp_path: Path) -> None:
        script = """
import json, pathlib
host = json.load(open("/opt/ml/input/config/resourceconfig.json"))["current_host"]
names = sorted(p.name for p in pathlib.Path("/opt/ml/input/data/train").iterdir())
pathlib.Path("/opt/ml/model", host).write_text(",".join(names))
"""

        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                for number in range(5):
                    sagemaker.put(f"train/{number}", "")
                train = channel(
                    "train", f"s3://{BUCKET}/train/", S3DataDistributionType="ShardedByS3Key"
                )
                await sagemaker.run(script, instances=2, InputDataConfig=[train])
                model = sagemaker.archive("out/a-job/output/model.tar.gz")
                assert model == {"algo-1": b"0,2,4", "algo-2": b"1,3"}

        go(story())

    @pytest.mark.parametrize("key", ["train/../../../escape", "train/./x"])
    def test_no_key_leads_out_of_the_channel(self, tmp_path: Path, key: str) -> None:
        async def story() -> None:
            async with running(tmp_path) as sagemaker:
                sagemaker.put(key, "")
                train = channel("train", f"s3://{BUCKET}/train/")
                job = await sagemaker.run("pass", status="Failed", InputDataConfig=[train])
                assert f"the key '{key}' cannot be a file's path" in job["FailureReason"]
                assert not list((tmp_path / "jobs").rglob("escape"))

        go(story())
