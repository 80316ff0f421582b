"""The order of the tests: the files that take longest come first, so that the workers end together.

By itself pytest-xdist begins with the files that have most tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# The longest first, by the sums of pytest --durations=0.
LONGEST = (
    "training/test_checkpoints.py",
    "taxifare/test_trainer.py",
    "test_compare.py",
    "helpers/test_jobs.py",
    "helpers/test_tuning.py",
    "AWS_helpers/test_jobs.py",
    "GCP_helpers/test_jobs.py",
    "helpers/test_vm.py",
    "helpers/test_pipeline_sagemaker.py",
    "training/test_losses.py",
    "helpers/test_targets.py",
    "helpers/test_pipeline.py",
    "training/test_replicas.py",
    "helpers/test_budget.py",
    "local_cloud/images/test_jobs.py",
    "local_cloud/images/test_pull.py",
    "lesson/machines/test_vm.py",
    "helpers/test_clusters.py",
    "local_cloud/client/test_control.py",
    "helpers/test_requests.py",
    "helpers/test_cleaning.py",
    "training/test_buckets.py",
    "local_cloud/google/vertex/automl/test_images.py",
    "local_cloud/google/vertex/automl/test_tables.py",
    "local_cloud/amazon/sagemaker/jobs/test_endings.py",
    "local_cloud/images/test_built_jobs.py",
    "helpers/test_watching.py",
    "local_cloud/google/bigquery/ml/test_functions.py",
    "local_cloud/google/bigquery/ml/test_models.py",
    "local_cloud/amazon/sagemaker/tuning/test_tuning.py",
    "local_cloud/amazon/sagemaker/autopilot/test_autopilot.py",
    "local_cloud/amazon/sagemaker/jobs/test_spot.py",
    "local_cloud/amazon/sagemaker/pipelines/test_pipelines.py",
    "local_cloud/amazon/sagemaker/pipelines/test_pipelines_mutated.py",
    "local_cloud/amazon/sagemaker/test_sdk.py",
    "local_cloud/google/vertex/jobs/test_spot.py",
    "local_cloud/console/pages/test_pages.py",
    "local_cloud/console/pages/test_links.py",
    "training/test_parallel.py",
    "local_cloud/test_nothing_leaves.py",
    "local_cloud/client/test_activation.py",
    "local_cloud/engine/jobs/test_queue.py",
    "local_cloud/engine/jobs/test_fork_server.py",
    "local_cloud/engine/jobs/test_attempts.py",
    "local_cloud/client/test_in_job.py",
    "local_cloud/engine/environments/test_job_environment.py",
    "local_cloud/test_recovery.py",
    "local_cloud/google/vertex/pipelines/test_kfp_pipelines.py",
    "local_cloud/client/test_peers.py",
    "local_cloud/billing/test_bill.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first, and leave the others in their order."""
    turns = {TESTS / name: turn for turn, name in enumerate(LONGEST)}
    items.sort(key=lambda item: turns.get(item.path, len(LONGEST)))
