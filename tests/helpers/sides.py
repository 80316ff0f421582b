"""Google's side and Amazon's: the helpers of each, and what tests must know where the two differ.

Both classes have the same attributes and methods, so that a test reads the same for either cloud.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import AWS_helpers
import AWS_helpers.costs
import AWS_helpers.describe
import AWS_helpers.images
import AWS_helpers.jobs
import AWS_helpers.session
import AWS_helpers.storage
import AWS_helpers.tuning
import GCP_helpers
import GCP_helpers.costs
import GCP_helpers.describe
import GCP_helpers.images
import GCP_helpers.jobs
import GCP_helpers.session
import GCP_helpers.storage
import GCP_helpers.tuning
from testing import once

ROOT = Path(__file__).parents[2]


class Google:
    """GCP_helpers, with Vertex AI and Cloud Storage behind them."""

    cloud = "Google"
    service = "Vertex AI"
    scheme = "gs"
    helpers: ModuleType = GCP_helpers
    costs: ModuleType = GCP_helpers.costs
    describe: ModuleType = GCP_helpers.describe
    images: ModuleType = GCP_helpers.images
    jobs: ModuleType = GCP_helpers.jobs
    session: ModuleType = GCP_helpers.session
    storage: ModuleType = GCP_helpers.storage
    sends_folder = (GCP_helpers.jobs, GCP_helpers.tuning)  # the modules whose FOLDER is sent
    trial = ROOT / "tests/GCP_helpers/trial.py"  # a quick script in place of train_nn.py
    machine = "n1-standard-4"  # the default one
    own_image = "us-central1-docker.pkg.dev/my-project/images/torch:1"
    two_cost = "$0.44 an hour"  # of two of them
    serving_machine = "n1-standard-2"  # the default one of deploy()
    served_cost = "$2.63"  # a day of it
    succeeded = "succeeded"  # as the display shows it
    cancelled = "CANCELLED"  # what the service calls it

    def connect(self) -> Any:
        """Connect to this worker's local cloud."""
        made = self.session.connect()
        once.pack_once()
        return made

    def name(self, job: Any) -> str:
        """Return the name of the SDK's job or study."""
        return str(job.display_name)

    def is_running(self, job: Any) -> bool:
        """Ask the service whether the script runs."""
        return "RUNNING" in job.state.name

    def output(self, job: Any) -> str:
        """Return the name of an object that the job leaves in its bucket."""
        return f"runs/{self.name(job)}/model/metrics.json"

    def send_script(self, script: Path) -> Any:
        """Send a script with the SDK alone, and return its object of the job."""
        from google.cloud import aiplatform

        job = aiplatform.CustomTrainingJob(
            script.stem, str(script), GCP_helpers.images.image_for(None)
        )
        job.submit()
        return job

    def create_bucket(self, name: str) -> None:
        """Make a bucket as somebody does who has no lesson."""
        self.session.current_session().storage.create_bucket(name, location="us-central1")

    def delete_bucket(self, name: str) -> None:
        """Delete an empty bucket."""
        self.session.current_session().storage.bucket(name).delete()

    def has_bucket(self, name: str) -> bool:
        """Return whether there is a bucket of this name."""
        return self.session.current_session().storage.lookup_bucket(name) is not None

    def keys(self, bucket: str) -> list[str]:
        """Return the names of a bucket's objects."""
        return [blob.name for blob in self.session.current_session().storage.list_blobs(bucket)]


class Amazon:
    """AWS_helpers, with SageMaker and S3 behind them."""

    cloud = "Amazon"
    service = "SageMaker"
    scheme = "s3"
    helpers: ModuleType = AWS_helpers
    costs: ModuleType = AWS_helpers.costs
    describe: ModuleType = AWS_helpers.describe
    images: ModuleType = AWS_helpers.images
    jobs: ModuleType = AWS_helpers.jobs
    session: ModuleType = AWS_helpers.session
    storage: ModuleType = AWS_helpers.storage
    sends_folder = (AWS_helpers.jobs, AWS_helpers.tuning)
    trial = ROOT / "tests/AWS_helpers/trial"
    machine = "ml.m5.xlarge"
    own_image = "123456789012.dkr.ecr.us-east-1.amazonaws.com/torch:1"
    two_cost = "$0.46 an hour"
    serving_machine = "ml.m5.large"
    served_cost = "$2.76"
    succeeded = "succeeded (Completed)"
    cancelled = "Stopped"
    _kept: Any = None  # what connect() returned: it takes half a second

    def connect(self) -> Any:
        """Connect to this worker's local cloud."""
        session = self.session
        if self._kept:
            session.point_sdks()
            session._session = self._kept
        if not self._kept or not session.region_of(session.client("s3"), self._kept.bucket):
            self._kept = session.connect()
        return self._kept

    def name(self, job: Any) -> str:
        """Return the name of the SDK's job or study."""
        job_name = vars(job).get("training_job_name") or job.hyper_parameter_tuning_job_name
        return str(job_name)

    def is_running(self, job: Any) -> bool:
        """Ask the service whether the script runs."""
        job.refresh()
        return bool(job.secondary_status == "Training")

    def output(self, job: Any) -> str:
        """Return the name of an object that the job leaves in its bucket."""
        return f"runs/{self.name(job)}/output/model.tar.gz"

    def send_script(self, script: Path) -> Any:
        """Send a script with the SDK alone, and return its object of the job."""
        from sagemaker.core.training.configs import SourceCode
        from sagemaker.train import ModelTrainer

        session = AWS_helpers.session.current_session()
        trainer = ModelTrainer(
            sagemaker_session=session.sagemaker,
            role=session.role,
            training_image=self.own_image,
            source_code=SourceCode(source_dir=str(script.parent), entry_script=script.name),
            base_job_name=script.stem,
        )
        trainer.train(wait=False, logs=False)
        return trainer._latest_training_job

    def create_bucket(self, name: str) -> None:
        """Make a bucket as somebody does who has no lesson."""
        self.session.client("s3").create_bucket(Bucket=name)

    def delete_bucket(self, name: str) -> None:
        """Delete an empty bucket."""
        self.session.client("s3").delete_bucket(Bucket=name)

    def has_bucket(self, name: str) -> bool:
        """Return whether there is a bucket of this name."""
        buckets = self.session.client("s3").list_buckets()["Buckets"]
        return name in {each["Name"] for each in buckets}

    def keys(self, bucket: str) -> list[str]:
        """Return the names of a bucket's objects."""
        objects = self.session.client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])
        return [each["Key"] for each in objects]


Side = Google | Amazon
SIDES: dict[str, Side] = {"Google": Google(), "Amazon": Amazon()}


def both_sides(fast: str) -> pytest.MarkDecorator:
    """Run a test on this side of the two, and among the slow ones on the other."""
    sides = [pytest.param(side, marks=pytest.mark.slow if side != fast else ()) for side in SIDES]
    return pytest.mark.parametrize("side", sides, indirect=True)
