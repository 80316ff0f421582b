"""The order of the tests: the files that take longest come first, so that the workers end together.

By itself pytest-xdist begins with the files that have most tests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
# The longest first, by the seconds between the beginnings of their tests in one run.
LONGEST = (
    "12-tuning.ipynb",
    "09-parallelism.ipynb",
    "20-pipelines.ipynb",
    "11-interrupted.ipynb",
    "16-package.ipynb",
    "10-does-it-pay.ipynb",
    "08-sagemaker-gpu-instances.ipynb",
    "test_compare.py",
    "05-vertex-gpu-replicas.ipynb",
    "13-tracking.ipynb",
    "local_cloud/test_largest_requests.py",
    "21-baselines.ipynb",
    "local_cloud/google/vertex/automl/test_tables.py",
    "local_cloud/engine/jobs/test_fork_server.py",
    "training/test_losses.py",
    "14-serving.ipynb",
    "04-vertex-first-job.ipynb",
    "07-sagemaker-first-job.ipynb",
    "22-troubleshooting.ipynb",
    "18-command-line.ipynb",
    "helpers/test_targets.py",
    "15-batch-scoring.ipynb",
    "training/test_checkpoints.py",
    "local_cloud/test_recovery.py",
    "local_cloud/test_homes.py",
    "local_cloud/client/test_outdated.py",
    "local_cloud/engine/environments/test_job_environment.py",
    "local_cloud/client/test_control.py",
    "local_cloud/google/vertex/endpoints/test_batch_predictions.py",
    "19-without-the-service.ipynb",
    "23-clean-up.ipynb",
    "tools/test_lint.py",
    "local_cloud/amazon/sagemaker/endpoints/test_endpoints.py",
    "helpers/test_cleaning.py",
    "local_cloud/amazon/sagemaker/jobs/test_endings.py",
    "local_cloud/test_seed_page.py",
    "training/test_changed_copies.py",
    "local_cloud/client/test_activation.py",
    "helpers/test_vm.py",
    "training/test_replicas.py",
    "helpers/test_jobs.py",
    "local_cloud/google/bigquery/jobs/test_jobs.py",
    "local_cloud/google/vertex/automl/test_images.py",
    "helpers/test_tuning.py",
    "local_cloud/engine/jobs/test_attempts.py",
    "local_cloud/engine/jobs/test_queue.py",
    "local_cloud/test_nothing_leaves.py",
    "local_cloud/google/vertex/endpoints/test_endpoints.py",
    "helpers/test_budget.py",
    "local_cloud/amazon/sagemaker/jobs/test_spot.py",
    "lesson/machines/test_vm.py",
    "local_cloud/google/bigquery/duckdb/test_query_process.py",
    "local_cloud/google/bigquery/duckdb/test_blocks.py",
    "local_cloud/images/test_pull.py",
    "01-introduction.ipynb",
    "local_cloud/amazon/sagemaker/autopilot/test_autopilot.py",
    "local_cloud/google/bigquery/test_hostile.py",
    "local_cloud/amazon/sagemaker/endpoints/test_batch_predictions.py",
    "local_cloud/google/vertex/jobs/test_tracked_jobs.py",
    "17-containers.ipynb",
    "02-train-locally.ipynb",
    "local_cloud/engine/serving/test_deployments.py",
    "tools/test_site.py",
    "local_cloud/client/test_in_job.py",
    "taxifare/test_trainer.py",
    "local_cloud/google/bigquery/test_restart.py",
    "training/test_companions.py",
    "local_cloud/client/test_peers.py",
    "training/test_buckets.py",
    "local_cloud/billing/test_bill.py",
    "local_cloud/google/bigquery/ml/test_models.py",
    "local_cloud/google/bigquery/ml/test_store.py",
    "local_cloud/google/vertex/tuning/test_tuning.py",
    "local_cloud/amazon/sagemaker/tuning/test_tuning.py",
    "tools/test_environment.py",
    "training/test_parallel.py",
    "local_cloud/console/records/test_dataset_statistics.py",
    "training/test_shared_layers.py",
    "lesson/show/test_progress.py",
    "lesson/machines/test_scaling.py",
    "local_cloud/client/test_rehearse.py",
    "lesson/jobs/test_runs.py",
    "local_cloud/amazon/sagemaker/pipelines/test_pipelines.py",
    "training/test_sagemaker.py",
    "helpers/test_pipeline_sagemaker.py",
    "local_cloud/test_gcloud.py",
    "local_cloud/google/vertex/models/test_prebuilt_images.py",
    "image/test_entrypoint.py",
    "training/test_tensorboard.py",
    "local_cloud/engine/jobs/test_recovery.py",
    "helpers/test_requests.py",
    "local_cloud/console/pages/test_pages.py",
    "test_architecture.py",
    "local_cloud/engine/studies/test_study.py",
    "local_cloud/amazon/sagemaker/jobs/test_recovery.py",
    "training/test_training.py",
    "local_cloud/google/vertex/pipelines/test_kfp_pipelines.py",
    "lesson/exercises/test_vertex_exercises.py",
    "local_cloud/images/test_jobs.py",
    "training/test_serving.py",
    "local_cloud/automl/test_search.py",
    "AWS_helpers/test_jobs.py",
    "local_cloud/google/bigquery/ml/test_functions.py",
)
TURNS = {name: turn for turn, name in enumerate(LONGEST)}


def turn(file: Path) -> int:
    """Return the place of a test file or notebook in the order."""
    inside = file.is_relative_to(TESTS)
    return TURNS.get(file.relative_to(TESTS).as_posix() if inside else file.name, len(LONGEST))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests of the longest files first, and leave the others in their order."""
    items.sort(key=lambda item: turn(item.path))
