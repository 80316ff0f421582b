"""Which test files take longest: testing/order.py lets them run first."""

from __future__ import annotations

from pathlib import Path

from testing.order import by_turn

# The longest first, by the seconds between the beginnings of their tests in one run.
LONGEST = (
    "test_largest_requests.py",
    "google/vertex/automl/test_tables.py",
    "engine/warm/test_fork_server.py",
    "test_recovery.py",
    "test_homes.py",
    "client/test_outdated_server.py",
    "engine/environments/test_job_environment.py",
    "client/test_control.py",
    "google/vertex/endpoints/test_batch_predictions.py",
    "amazon/sagemaker/endpoints/test_endpoints.py",
    "amazon/sagemaker/jobs/test_endings.py",
    "client/test_activation.py",
    "google/bigquery/jobs/test_jobs.py",
    "google/vertex/automl/test_images.py",
    "engine/jobs/test_attempts.py",
    "engine/jobs/test_outcomes.py",
    "engine/jobs/test_queue.py",
    "test_nothing_leaves.py",
    "google/vertex/endpoints/test_endpoints.py",
    "amazon/sagemaker/jobs/test_spot.py",
    "google/bigquery/duckdb/test_query_process.py",
    "google/bigquery/duckdb/test_blocks.py",
    "images/test_pull.py",
    "amazon/sagemaker/autopilot/test_autopilot.py",
    "google/bigquery/test_hostile.py",
    "amazon/sagemaker/endpoints/test_batch_predictions.py",
    "google/vertex/jobs/test_tracked_jobs.py",
    "engine/serving/test_deployments.py",
    "client/test_in_job.py",
    "google/bigquery/test_restart.py",
    "client/test_peers.py",
    "billing/test_bill.py",
    "google/bigquery/ml/test_models.py",
    "google/bigquery/ml/test_store.py",
    "google/vertex/tuning/test_tuning.py",
    "amazon/sagemaker/tuning/test_tuning.py",
    "console/records/test_dataset_statistics.py",
    "client/test_rehearse.py",
    "amazon/sagemaker/pipelines/test_pipelines.py",
    "test_gcloud.py",
    "google/vertex/models/test_prebuilt_images.py",
    "engine/jobs/test_recovery.py",
    "console/pages/test_pages.py",
    "engine/studies/test_study.py",
    "amazon/sagemaker/jobs/test_recovery.py",
    "google/vertex/pipelines/test_kfp_pipelines.py",
    "images/test_jobs.py",
    "automl/test_search.py",
    "google/bigquery/ml/test_functions.py",
)
pytest_collection_modifyitems = by_turn(Path(__file__).parent, LONGEST)
