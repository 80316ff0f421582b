"""A job whose command is in the request: what it meets, and what becomes of it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.amazon.sagemaker.support import BUCKET, go, running

# A script that says what it met, as a model.
REPORT = """
import json, os, pathlib
config = {p.stem: json.loads(p.read_text()) for p in pathlib.Path("/opt/ml/input/config").iterdir()}
data = pathlib.Path("/opt/ml/input/data")
files = {str(p.relative_to(data)): p.read_text() for p in data.rglob("*") if p.is_file()}
host = config["resourceconfig"]["current_host"]
seen = {"config": config, "files": files, "environment": dict(os.environ)}
pathlib.Path("/opt/ml/model", host + ".json").write_text(json.dumps(seen))
"""


def test_a_job_meets_its_configuration_and_its_data(tmp_path: Path, how: str) -> None:
    async def story() -> None:
        async with running(tmp_path / "with blank") as sagemaker:
            sagemaker.put("data/train/a.csv", "1")
            sagemaker.put("data/train/deep/b.csv", "2")
            address = sagemaker.put("val.npz", "3")
            job = await sagemaker.run(
                REPORT,
                channels={"train": f"s3://{BUCKET}/data/train", "val": address},
                HyperParameters={"epochs": "3"},
                Environment={"MINE": "yes"},
            )
            assert job["ModelArtifacts"]["S3ModelArtifacts"] == (
                f"s3://{BUCKET}/out/a-job/output/model.tar.gz"
            )
            model = sagemaker.archive("out/a-job/output/model.tar.gz")
            seen = json.loads(model["algo-1.json"])
        del seen["files"]["code/task.py"]
        assert seen["files"] == {"train/a.csv": "1", "train/deep/b.csv": "2", "val/val.npz": "3"}
        assert seen["config"]["hyperparameters"] == {"epochs": "3"}
        resources = seen["config"]["resourceconfig"]
        assert resources["hosts"] == ["algo-1"]
        assert resources["current_instance_type"] == "ml.m5.large"
        assert seen["config"]["inputdataconfig"]["val"] == {
            "TrainingInputMode": "File",
            "S3DistributionType": "FullyReplicated",
            "RecordWrapperType": "None",
        }
        assert seen["environment"]["MINE"] == "yes"
        assert seen["environment"]["TRAINING_JOB_NAME"] == "a-job"

    go(story())
