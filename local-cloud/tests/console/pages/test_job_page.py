"""A job's page: its machine, flags, cost and epoch, and the way to its experiment and back."""

from __future__ import annotations

import re
from html import unescape

import pytest

from testing.visitor import Visitor
from tests.console.filled_cloud import BUCKET, Filled, pipeline, pool

CURVES = """
import os
from torch.utils.tensorboard import SummaryWriter
with SummaryWriter(os.environ["AIP_TENSORBOARD_LOG_DIR"].replace("gs://", "/gcs/")) as writer:
    for epoch in (1, 2):
        writer.add_scalar("loss", 1 / epoch, epoch)
        print(f"epoch {epoch}  loss {1 / epoch}")
"""


def facts(page: str) -> dict[str, str]:
    """Each fact of a page, as text."""
    pairs = re.findall(r"<div><dt>(.*?)</dt><dd>(.*?)</dd></div>", page, re.S)
    return {name: unescape(re.sub("<[^>]+>", "", text)).strip() for name, text in pairs}


def test_the_page_says_machine_gpu_cost_flags_and_epoch(filled: Filled, visitor: Visitor) -> None:
    from google.cloud import aiplatform

    spec = pool("print('epoch 572  loss 0.5')")
    spec["machine_spec"] |= {"accelerator_type": "NVIDIA_TESLA_T4", "accelerator_count": 2}
    spec["container_spec"]["args"] = ["--epochs=1000000", "--name=<b>"]
    job = aiplatform.CustomJob(display_name="facts", worker_pool_specs=[spec])
    job.run()
    told = facts(visitor.get(f"/console/jobs/{job.resource_name.rpartition('/')[2]}").text)
    assert told["Machine"] == "n1-standard-4 + 2 × T4"
    assert told["GPU"] == "2 × NVIDIA_TESLA_T4"
    assert told["Epoch"] == "572 of 1000000"
    assert re.fullmatch(r"\$0\.00\d+", told["Cost"]), "half a minute of a dollar an hour"
    assert (told["--epochs"], told["--name"]) == ("1000000", "<b>")
    job.delete()
    told = facts(visitor.get(f"/console/jobs/{filled.training_job}").text)
    assert (told["Machine"], told["Epoch"]) == ("ml.m5.large", "2")


def test_a_task_links_its_pipeline(filled: Filled, visitor: Visitor) -> None:
    from google.cloud import aiplatform

    name = pipeline("linked-pipeline", BUCKET)
    run = aiplatform.PipelineJob.get(name)
    run.wait()
    page = visitor.get("/console/jobs").text
    tasks = page.partition(">linked-pipeline<")[2].partition("</details>")[0]
    assert re.search("<summary>4 tasks ", tasks)
    task = visitor.get("/console/" + re.findall(r'href="[./]*(jobs/\d+)"', tasks)[0])
    assert facts(task.text)["Task of"] == "linked-pipeline"
    run.delete()


def test_a_job_leads_to_its_experiment_and_its_board_and_both_lead_back(
    filled: Filled, visitor: Visitor
) -> None:
    pytest.importorskip("tensorboard")
    from google.cloud import aiplatform

    board = aiplatform.Tensorboard.create(display_name="of a job")
    job = aiplatform.CustomJob(
        display_name="with-curves",
        worker_pool_specs=[pool(CURVES)],
        base_output_dir=f"gs://{BUCKET}/with-curves",
    )
    account = "any@example.iam.gserviceaccount.com"
    job.run(tensorboard=board.resource_name, service_account=account)
    job_page = f"jobs/{job.resource_name.rpartition('/')[2]}"
    page = visitor.get(f"/console/{job_page}").text
    links = dict(
        re.findall(r"<dt>(Experiment|TensorBoard)</dt><dd><a href=\"[./]*([^\"]+)\"", page)
    )
    experiment = visitor.get("/console/" + unescape(links["Experiment"]))
    assert job_page in experiment and links["TensorBoard"] in experiment.text
    assert "Metrics: none. Last values in TensorBoard: loss." in experiment
    assert "<td>0.5000</td>" in experiment
    curves = visitor.get("/console/" + unescape(links["TensorBoard"]))
    assert job_page in curves and links["Experiment"] in curves.text
    assert "loss, to step 2" in curves
    job.delete()
