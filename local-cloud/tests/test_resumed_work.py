"""Work goes on: a job without its client, and a pipeline after its server was killed."""

from __future__ import annotations

import json
import os
import signal
import urllib.request
from pathlib import Path

from local_cloud.client import control
from local_cloud.client.home import Home
from tests.engine.support import alive
from tests.test_recovery import CREATE, WAITING, client, pid_of, say, until
from tests.test_recovery import own as own


def test_a_job_goes_on_when_its_client_is_killed(own: Home) -> None:
    notebook = client(own, f"{CREATE}job({WAITING!r}).run()")
    pid = pid_of(own)
    notebook.send_signal(signal.SIGKILL)
    notebook.communicate()
    assert alive(pid)
    (own.data / "buckets" / "kept" / "go").touch()
    listed = f"{control.status(own).url}/v1/projects/p/locations/us-central1/customJobs"

    def ended() -> bool:
        with urllib.request.urlopen(listed) as answer:
            (job,) = json.load(answer)["customJobs"]
        assert job["displayName"] == "kept" and job["state"] != "JOB_STATE_FAILED"
        return bool(job["state"] == "JOB_STATE_SUCCEEDED")

    until(ended)


PIPELINE = """
from tests.google.vertex.pipelines.test_pipelines import constant, of, pipeline
def begin(waiting):
    note = 'mkdir -p "${0%/*}"; printf x > "$0"; echo ran >> /gcs/kept/first'
    spec = pipeline({"first": (note, constant("x")), "second": (waiting, of("first"))})
    with open("pipeline.json", "w") as file: json.dump(spec, file)
    aiplatform.PipelineJob(display_name="kept", template_path="pipeline.json").submit()
"""


def test_a_pipeline_goes_on_after_the_server_was_killed(own: Home, tmp_path: Path) -> None:
    upload = f"bucket.blob('waiting.py').upload_from_string({WAITING!r})\n"
    begin = "begin('python /gcs/kept/waiting.py')\nprint(1)"
    say(own, f"{CREATE}{upload}{PIPELINE}os.chdir({str(tmp_path)!r})\n{begin}")
    pid = pid_of(own)
    os.kill(control.status(own).facts["pid"], signal.SIGKILL)
    until(lambda: not alive(pid))
    (own.data / "buckets" / "kept" / "go").touch()

    control.start(own)
    result = say(
        own,
        "(job,) = aiplatform.PipelineJob.list()\njob.wait()\n"
        "tasks = {task.task_name: task for task in job.task_details}\n"
        "detail = tasks['second'].executor_detail.container_detail\n"
        "print(json.dumps({'states': {name: task.state.name for name, task in tasks.items()},\n"
        "  'lost': len(detail.failed_main_jobs),\n"
        "  'first': bucket.blob('first').download_as_text()}))",
    )
    assert result["first"] == "ran\n"  # what had ended was not run again
    assert result["lost"] == 1
    assert (result["states"]["first"], result["states"]["second"]) == ("SUCCEEDED", "SUCCEEDED")
