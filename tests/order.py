"""The order of the tests: the files that take longest come first, so that the workers end together.

By itself pytest-xdist begins with the files that have most tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# The longest first, by the sums of pytest --durations=0; notebooks, which compute more, between
# tests, which wait more.
LONGEST = (
    "09-parallelism.ipynb",
    "training/test_losses.py",
    "12-tuning.ipynb",
    "test_compare.py",
    "14-serving.ipynb",
    "training/test_checkpoints.py",
    "16-package.ipynb",
    "training/test_companions.py",
    "18-command-line.ipynb",
    "local_cloud/test_recovery.py",
    "19-without-the-service.ipynb",
    "local_cloud/google/vertex/automl/test_tables.py",
    "11-interrupted.ipynb",
    "local_cloud/engine/environments/test_job_environment.py",
    "08-sagemaker-gpu-instances.ipynb",
    "helpers/test_pipeline.py",
    "10-does-it-pay.ipynb",
    "training/test_changed_copies.py",
    "13-tracking.ipynb",
    "training/test_serving.py",
    "05-vertex-gpu-replicas.ipynb",
    "helpers/test_targets.py",
    "07-sagemaker-first-job.ipynb",
    "local_cloud/client/test_activation.py",
    "23-clean-up.ipynb",
    "helpers/test_jobs.py",
    "01-introduction.ipynb",
    "local_cloud/client/test_control.py",
    "04-vertex-first-job.ipynb",
    "training/test_sagemaker.py",
    "06-s3-data.ipynb",
    "helpers/test_pipeline_sagemaker.py",
    "helpers/test_vm.py",
    "local_cloud/test_nothing_leaves.py",
    "training/test_training.py",
    "tools/test_lint.py",
    "local_cloud/test_seed_page.py",
    "local_cloud/amazon/sagemaker/endpoints/test_endpoints.py",
    "training/test_replicas.py",
    "local_cloud/engine/jobs/test_queue.py",
    "local_cloud/google/vertex/endpoints/test_batch_predictions.py",
    "local_cloud/amazon/sagemaker/jobs/test_endings.py",
    "helpers/test_cleaning.py",
    "local_cloud/billing/test_bill.py",
    "local_cloud/client/test_in_job.py",
    "local_cloud/google/vertex/endpoints/test_endpoints.py",
    "local_cloud/engine/jobs/test_attempts.py",
    "training/test_refusals.py",
    "test_architecture.py",
    "local_cloud/google/vertex/automl/test_images.py",
    "local_cloud/amazon/sagemaker/endpoints/test_batch_predictions.py",
    "local_cloud/google/bigquery/test_restart.py",
    "helpers/test_tuning.py",
    "helpers/test_budget.py",
    "local_cloud/google/bigquery/duckdb/test_query_process.py",
    "training/test_buckets.py",
    "local_cloud/google/bigquery/jobs/test_jobs.py",
    "lesson/machines/test_vm.py",
    "local_cloud/google/vertex/pipelines/test_kfp_pipelines.py",
    "local_cloud/test_gcloud.py",
    "training/test_shared_layers.py",
    "training/test_tensorboard.py",
    "local_cloud/google/vertex/jobs/test_tracked_jobs.py",
    "taxifare/test_trainer.py",
    "local_cloud/client/test_rehearse.py",
    "lesson/jobs/test_runs.py",
    "image/test_entrypoint.py",
    "local_cloud/google/bigquery/ml/test_models.py",
    "local_cloud/test_pytest_plugin.py",
    "local_cloud/engine/serving/test_deployments.py",
    "local_cloud/engine/jobs/test_fork_server.py",
    "local_cloud/amazon/sagemaker/jobs/test_spot.py",
    "local_cloud/automl/test_search.py",
    "local_cloud/client/test_peers.py",
    "tools/test_environment.py",
    "helpers/test_requests.py",
    "local_cloud/google/vertex/tuning/test_tuning.py",
    "local_cloud/google/bigquery/ml/test_store.py",
    "local_cloud/amazon/sagemaker/autopilot/test_autopilot.py",
    "local_cloud/console/records/test_dataset_statistics.py",
    "GCP_helpers/test_watching.py",
    "local_cloud/images/test_pull.py",
    "AWS_helpers/test_jobs.py",
    "training/test_flat_adam.py",
    "local_cloud/google/bigquery/test_hostile.py",
    "lesson/exercises/test_serving_exercises.py",
    "lesson/machines/test_scaling.py",
    "local_cloud/console/pages/test_pages.py",
    "tools/test_site.py",
    "training/test_parallel.py",
)
TURNS = {name: turn for turn, name in enumerate(LONGEST)}


def turn(file: Path) -> int:
    """Return the place of a test file or notebook in the order."""
    inside = file.is_relative_to(TESTS)
    return TURNS.get(file.relative_to(TESTS).as_posix() if inside else file.name, len(LONGEST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first, and leave the others in their order."""
    items.sort(key=lambda item: turn(item.path))
