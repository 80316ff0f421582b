"""Two jobs side by side: their results, the flags in which they differ, and their curves."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from testing.visitor import Visitor
from tests.console.filled_cloud import BUCKET, EPOCHS, Filled, pool


def compare(visitor: Visitor, *jobs: str) -> Any:
    """The page of these jobs."""
    return visitor.get("/console/compare?" + urlencode([("job", job) for job in jobs]))


def test_two_jobs_lay_their_flags_side_by_side_and_overlay_their_curves(
    filled: Filled, visitor: Visitor
) -> None:
    from google.cloud import aiplatform

    made = []
    for rate in ("0.1", "<b>0.2"):
        spec = pool(EPOCHS)
        spec["container_spec"]["args"] = ["--epochs=60", f"--learning_rate={rate}"]
        job = aiplatform.CustomJob(
            display_name=f"rate-{rate[-3:]}",
            worker_pool_specs=[spec],
            base_output_dir=f"gs://{BUCKET}/rate-{rate[-3:]}",
        )
        job.run()
        made.append(job)
    page = compare(visitor, *(job.resource_name.rpartition("/")[2] for job in made))
    different, _, same = page.text.partition("Flags that differ</h2>")[2].partition("<details")
    assert "--learning_rate" in different and "--epochs" not in different
    assert "<td>0.1</td><td>&lt;b&gt;0.2</td>" in different
    assert "1 flag is the same" in same and "<dt>--epochs</dt><dd>60</dd>" in same
    assert page.text.count("<figure") == 3, "loss, validation loss and accuracy"
    assert page.text.count('<polyline class="line') == 6
    assert "rate-0.1 0.3573, rate-0.2 0.3573" in page, "each metric has a line of each job"
    for job in made:
        job.delete()


def test_a_flag_that_was_not_sent_has_the_default_with_which_the_program_ran(
    filled: Filled, visitor: Visitor
) -> None:
    from google.cloud import aiplatform

    code = """
import json, os, sys
folder = os.environ["AIP_MODEL_DIR"].replace("gs://", "/gcs/")
os.makedirs(folder)
told = {"configuration": {"hidden": [64, 32], "seed": 0}, "epochs": {"last": 9, "best": 7}}
json.dump(told, open(folder + "metrics.json", "w"))
"""
    made = []
    for args in ([], ["--hidden=8", "--verbose"]):
        spec = pool(code)
        spec["container_spec"]["args"] = args
        uri = f"gs://{BUCKET}/defaults-{len(made)}"
        job = aiplatform.CustomJob("defaults", worker_pool_specs=[spec], base_output_dir=uri)
        job.run()
        made.append(job.resource_name.rpartition("/")[2])
    page = compare(visitor, *made)
    assert "<td>64,32 (default)</td><td>8</td>" in page.text
    assert "<td>not sent</td><td>set</td>" in page.text
    assert "leave out" not in page.text
    assert "<dt>Best epoch</dt><dd>7</dd>" in visitor.get(f"/console/jobs/{made[0]}").text
    three = compare(visitor, *made, filled.job)
    assert f'<a href="?job={made[0]}&amp;job={filled.job}">leave out</a>' in three.text


def test_fewer_than_two_jobs_are_a_sentence(filled: Filled, visitor: Visitor) -> None:
    for jobs in ((), (filled.job,), (filled.job, filled.job), ("none", filled.job), ("..", "%00")):
        assert "Tick at least two jobs" in compare(visitor, *jobs)


def test_jobs_of_both_clouds_can_be_compared(filled: Filled, visitor: Visitor) -> None:
    page = compare(visitor, filled.job, filled.training_job)
    assert "ml.m5.large" in page and "n1-standard-4" in page and "Vertex AI" in page
    assert page.text.count("<figure") == 3
