"""The links that the SDKs print to the pages of the clouds lead to the console."""

from __future__ import annotations

import logging
import re
from urllib.parse import urljoin, urlsplit

import pytest
from sagemaker.train.common_utils import job_wait, metrics_visualizer

from local_cloud.client.control import Status
from local_cloud.client.sdks.console_links import to_console
from testing.visitor import Visitor
from tests.console.filled_cloud import Filled, pool

PAGE = "https://console.cloud.google.com/agent-platform/locations/us-central1/training/12?project=3"


def test_a_link_keeps_what_it_names_and_loses_the_rest(
    cloud: Status, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = f"http://127.0.0.1:{cloud.port}/console/at/"
    text = to_console(f"View Custom Job:\n{PAGE}")
    assert text == f"View Custom Job:\n{root}agent-platform/locations/us-central1/training/12"
    for other in (
        "https://console.cloud.google.com/iam-admin/quotas?project=p",
        "https://us-east-1.console.aws.amazon.com/servicequotas/home/services/sagemaker/quotas",
        "https://console.cloud.google.com.evil.example/vertex-ai/1",
    ):
        assert to_console(other) == other
    monkeypatch.setenv("LOCAL_CLOUD_TARGET", "cloud")
    assert to_console(PAGE) == PAGE


def landed(visitor: Visitor, link: str) -> str:
    """The page to which a link leads."""
    parts = urlsplit(link)
    answer = visitor.get(parts.path)
    assert answer.status == 303, answer.text
    return urljoin(parts.path, answer.headers["location"])


def test_the_link_that_the_sdk_logs_leads_to_the_job(
    filled: Filled, visitor: Visitor, caplog: pytest.LogCaptureFixture
) -> None:
    from google.cloud import aiplatform

    caplog.set_level(logging.INFO, "google.cloud.aiplatform")
    logging.getLogger("google.cloud.aiplatform").addHandler(caplog.handler)
    job = aiplatform.CustomJob(display_name="linked", worker_pool_specs=[pool("print(1)")])
    job.run()
    logging.getLogger("google.cloud.aiplatform").removeHandler(caplog.handler)
    (link,) = set(re.findall(r"View Custom Job:\n(\S+)", caplog.text))
    assert "cloud.google.com" not in caplog.text
    page = landed(visitor, link)
    assert page == f"/console/jobs/{job.resource_name.rpartition('/')[2]}"
    assert "linked" in visitor.get(page)


def test_every_kind_of_link_leads_to_its_page(filled: Filled, visitor: Visitor) -> None:
    arn = f"arn:aws:sagemaker:us-east-1:000000000000:training-job/{filled.training_job}"
    job = f"/console/jobs/{filled.training_job}"
    assert landed(visitor, metrics_visualizer.get_console_job_url(arn)) == job
    group = "/aws/sagemaker/TrainingJobs"
    link = job_wait._get_cloudwatch_logs_url(arn, filled.training_job, group)
    assert landed(visitor, link) == job
    tail = {
        f"vertex-ai/experiments/locations/x/experiments/{filled.experiment.rpartition('/')[2]}": (
            "/console/experiment?"
        ),
        f"agent-platform/locations/x/training/{filled.study.rpartition('/')[2]}": "/console/study?",
        f"vertex-ai/models/{filled.model.rpartition('/')[2].partition('@')[0]}": (
            "/console/resource?kind=vertex-models"
        ),
        "storage/browser/filled-gs": "/console/bucket?scheme=gs",
    }
    for address, page in tail.items():
        assert landed(visitor, f"/console/at/{address}").startswith(page)
    assert visitor.get("/console/at/vertex-ai/none").status == 404
