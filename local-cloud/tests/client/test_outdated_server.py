"""After an update of its folder the server that runs is told from the code that is there now."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from local_cloud.client import control
from local_cloud.client.home import CHECKOUT, Home
from local_cloud.client.outdated_server import in_words
from tests.google.vertex.support import IMAGE


class Copy:
    """A checkout of the test's own with a home of its own, in which code can change."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "checkout", Home(folder / "home")
        unfinished = shutil.ignore_patterns("*.pyc.*")  # that another process compiles just then
        shutil.copytree(CHECKOUT / "local_cloud", self.package, ignore=unfinished)
        names = ("LOCAL_CLOUD_VERTEX_URL", "STORAGE_EMULATOR_HOST")
        clean = {name: value for name, value in os.environ.items() if name not in names}
        self.environment = clean | {"LOCAL_CLOUD_HOME": str(self.home.folder)}

    @property
    def package(self) -> Path:
        return self.folder / "local_cloud"

    def update(self) -> None:
        """Change the code as `git pull` does: the server's own answer tells which code it is."""
        path = self.package / "server.py"
        text = path.read_text()
        version = text.count("# an update")
        path.write_text(f"{text}\n# an update {version + 1}\n")

    def begin(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> tuple[str, str]:
        """What a program says, on stdout and on stderr."""
        with self.begin(*arguments) as process:
            said = process.communicate()
        assert process.returncode == 0, said
        return said

    def activate(self, code: str = "") -> tuple[dict[str, Any], str]:
        """What `activate()` returns in a new process, and what it says."""
        out, said = self.run("-c", f"{ACTIVATE}{code}")
        return json.loads(out.splitlines()[0]), said


ACTIVATE = """
import json, local_cloud
def activate():
    found = local_cloud.activate()
    print(json.dumps(found.facts | {"url": found.url}), flush=True)
activate()
"""
# Sends a custom job that runs until the file `go` is in its bucket, and waits for its end.
JOB = f"""
from google.cloud import aiplatform, storage
bucket = storage.Client().create_bucket("kept")
aiplatform.init(project="p", location="us-central1", staging_bucket="gs://kept")
code = "import os, time\\nwhile not os.path.exists('/gcs/kept/go'): time.sleep(0.05)"
pool = {{"machine_spec": {{"machine_type": "n1-standard-4"}}, "replica_count": 1,
        "container_spec": {{"image_uri": {IMAGE!r}, "command": ["python", "-c", code]}}}}
job = aiplatform.CustomJob(display_name="kept", worker_pool_specs=[pool])
job.submit()
activate()
input()
bucket.blob("go").upload_from_string("")
job._block_until_complete()
print(job.state.name, flush=True)
"""


def facts(notebook: subprocess.Popen[str]) -> dict[str, Any]:
    """What its next call of `activate()` returns, after the lines that the SDKs print."""
    assert notebook.stdout
    content: dict[str, Any] = json.loads(next(line for line in notebook.stdout if line[0] == "{"))
    return content


@pytest.fixture
def copy(tmp_path: Path) -> Iterator[Copy]:
    made = Copy(tmp_path)
    yield made
    control.stop(made.home)


def test_activate_and_start_start_the_new_code_and_say_so(copy: Copy) -> None:
    before, said = copy.activate()
    assert copy.activate() == (before, "")  # nothing has changed
    copy.update()
    status, _ = copy.run("-m", "local_cloud", "status")
    assert f"{copy.folder} (changed since it started: `python -m local_cloud start`" in status
    after, said = copy.activate()
    assert f"runs older code than {copy.folder} holds now, and nothing runs on it" in said
    assert (after["url"], after["pid"] == before["pid"]) == (before["url"], False)
    assert copy.activate() == (after, "")
    status, _ = copy.run("-m", "local_cloud", "status")
    assert "changed" not in status
    copy.update()  # and the command does the same
    started, said = copy.run("-m", "local_cloud", "start")
    assert "so it is started again" in said
    assert f"process {after['pid']}" not in started
    assert "changed" not in started


def test_a_job_that_runs_is_not_ended_and_the_sentence_says_how_to_restart(copy: Copy) -> None:
    with copy.begin("-c", f"{ACTIVATE}{JOB}") as notebook:
        before = facts(notebook)
        assert facts(notebook)["jobs"]
        copy.update()
        now_facts, said = copy.activate()
        assert now_facts["pid"] == before["pid"]
        assert "holds now, and goes on, because of 1 job: `python -m local_cloud start`" in said
        ended, _ = notebook.communicate("\n")
    assert ended.endswith("JOB_STATE_SUCCEEDED\n")
    assert copy.activate()[0]["pid"] != before["pid"]


def test_open_notebooks_go_on_and_do_not_flap(copy: Copy) -> None:
    """One with older code in memory: it compares nothing itself, so it agrees with the others."""
    code = "\nfrom google.cloud import storage\nclient = storage.Client(project='p')\n"
    code += "client.create_bucket('kept')\n"
    code += "while input(): print(client.bucket('kept').exists(), flush=True); activate()\n"
    with copy.begin("-c", f"{ACTIVATE}{code}") as notebook:
        assert notebook.stdin and notebook.stdout
        before = facts(notebook)
        copy.update()
        after, _ = copy.activate()
        assert after["pid"] != before["pid"]
        for _ in range(2):
            notebook.stdin.write("again\n")
            notebook.stdin.flush()
            assert notebook.stdout.readline() == "True\n"  # its client finds the new server
            assert facts(notebook)["pid"] == after["pid"]
            assert copy.activate()[0]["pid"] == after["pid"]
        copy.update()
        notebook.stdin.write("again\n")
        notebook.stdin.flush()
        assert notebook.stdout.readline() == "True\n"
        newest = facts(notebook)["pid"]
        assert newest != after["pid"]  # the old client starts the new code, too
        _, said = notebook.communicate("\n")
        assert said.count("so it is started again") == 1
    assert copy.activate()[0]["pid"] == newest


def test_of_two_clients_at_once_one_starts_the_new_code(copy: Copy) -> None:
    before, _ = copy.activate()
    copy.update()
    clients = [copy.begin("-c", ACTIVATE) for _ in range(3)]
    said = [client.communicate() for client in clients]
    pids = {json.loads(out)["pid"] for out, _ in said}
    assert len(pids) == 1 and pids != {before["pid"]}, said
    assert sum("so it is started again" in words for _, words in said) == 1


def test_new_code_that_does_not_start_here_leaves_the_old_server_alone(copy: Copy) -> None:
    """As where the update needs a package that is not installed yet."""
    before, _ = copy.activate()
    with open(copy.package / "platform.py", "a") as file:
        file.write("\nimport a_package_that_is_missing\n")
    facts, said = copy.activate()
    assert facts["pid"] == before["pid"]
    assert "goes on, because the new code does not start here (ModuleNotFoundError: No" in said


def test_another_checkout_that_uses_the_server_says_whose_command_starts_the_new_code(
    copy: Copy,
) -> None:
    """One that the environment names is used as it is, and only its own checkout replaces it."""
    before, _ = copy.activate()
    copy.update()
    done = subprocess.run(
        [sys.executable, "-c", ACTIVATE],
        cwd=CHECKOUT,
        env=copy.environment | {"LOCAL_CLOUD_VERTEX_URL": before["url"]},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout)["pid"] == before["pid"]
    command = f"cd {copy.folder} && {sys.executable} -m local_cloud start"
    assert f"runs older code than {copy.folder} holds now: `{command}` runs the" in done.stderr


def test_a_server_from_before_this_was_known_is_replaced_too(copy: Copy) -> None:
    """It does not say that its code has changed, and has no call to make way."""
    path = copy.package / "server.py"
    new = path.read_text()
    old = new.replace('"code_changed": self._source.has_changed(),', "")
    old = old.replace('Route("/make-way", self._make_way, methods=["POST"]),', "")
    assert len(old) < len(new) - 80
    path.write_text(old)
    source = copy.package / "source.py"
    source.rename(source.with_suffix(".later"))  # as in a checkout that is older still
    (copy.package / "source.py").write_text(source.with_suffix(".later").read_text())
    before, _ = copy.activate()
    path.write_text(new)
    after, said = copy.activate()
    assert "so it is started again" in said
    assert (after["url"], after["pid"] == before["pid"]) == (before["url"], False)
    assert copy.activate() == (after, "")


# Begins one of each kind that runs until it is ended, and says what the server answers then.
EACH_KIND = f"""
import sys, urllib.request
from google.cloud import aiplatform, bigquery, storage
from google.cloud.aiplatform import hyperparameter_tuning as hpt
storage.Client().create_bucket("kept")
aiplatform.init(project="p", location="us-central1", staging_bucket="gs://kept")
wait = ["python", "-c", "import time; time.sleep(1000)"]
pool = {{"machine_spec": {{"machine_type": "n1-standard-4"}}, "replica_count": 1,
        "container_spec": {{"image_uri": {IMAGE!r}, "command": wait}}}}
trial = aiplatform.CustomJob(display_name="trial", worker_pool_specs=[pool])
aiplatform.HyperparameterTuningJob(
    display_name="kept", custom_job=trial, metric_spec={{"loss": "minimize"}},
    parameter_spec={{"x": hpt.DoubleParameterSpec(min=0, max=1, scale="linear")}},
    max_trial_count=1, parallel_trial_count=1,
).run(sync=False)
container = {{"image": "python:3.11", "command": wait}}
with open("kept.json", "w") as file:
    json.dump({{
        "schemaVersion": "2.1.0", "pipelineInfo": {{"name": "kept"}},
        "components": {{"comp": {{"executorLabel": "exec"}}}},
        "deploymentSpec": {{"executors": {{"exec": {{"container": container}}}}}},
        "root": {{"dag": {{"tasks": {{"task": {{"componentRef": {{"name": "comp"}}}}}}}}}},
    }}, file)
aiplatform.PipelineJob(
    display_name="kept", template_path="kept.json", pipeline_root="gs://kept/root"
).submit()
aiplatform.Model.upload(
    display_name="kept", serving_container_image_uri="us-docker.pkg.dev/p/kept/kept:1",
    serving_container_command=wait, serving_container_predict_route="/predict",
    serving_container_health_route="/",
).deploy(machine_type="n1-standard-2", sync=False)
bigquery.Client(project="p").query(
    "SELECT COUNT(*) FROM UNNEST(GENERATE_ARRAY(1, 300000)) AS a, "
    "UNNEST(GENERATE_ARRAY(1, 300000)) AS b WHERE MOD(a * b, 7) = 3"
)
url = local_cloud.status().url
seen, end = set(), time.monotonic() + 60
while len(seen) < 5 and time.monotonic() < end:
    request = urllib.request.Request(url + "/make-way", b"")
    seen |= json.load(urllib.request.urlopen(request))["running"].keys() - {{"requests"}}
print(json.dumps(sorted(seen)), flush=True)
os._exit(0)
"""


def test_every_kind_of_work_keeps_the_old_server(copy: Copy) -> None:
    out, _ = copy.run("-c", f"import os, time{ACTIVATE}{EACH_KIND}")
    content = json.loads(out.splitlines()[-1])
    assert content == ["BigQuery jobs", "deployed models", "jobs", "pipelines", "studies"]


def test_a_job_that_comes_while_the_server_makes_way_is_run_by_the_next_one(copy: Copy) -> None:
    """Both requests are on one connection, so that the second one finds the server that ends."""
    copy.activate()
    port, secret = copy.home.address()["port"], copy.home.secret()
    jobs = f"/{secret}/v1/projects/p/locations/us-central1/customJobs"
    container = {"imageUri": IMAGE, "command": ["python", "-c", "import time; time.sleep(2)"]}
    pool = {"machineSpec": {"machineType": "n1-standard-4"}, "replicaCount": 1}
    spec = {"workerPoolSpecs": [pool | {"containerSpec": container}]}
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", f"/{secret}/make-way")
    assert json.loads(connection.getresponse().read()) == {"running": {}}
    connection.request("POST", jobs, json.dumps({"displayName": "late", "jobSpec": spec}))
    name = json.loads(connection.getresponse().read())["name"]
    connection.close()
    while copy.home.running():
        time.sleep(0.02)
    copy.activate()
    end, state = time.monotonic() + 60, ""
    while state != "JOB_STATE_SUCCEEDED" and time.monotonic() < end:
        state = control.ask(port, f"{jobs}/{name.rpartition('/')[2]}")["state"]
    assert state == "JOB_STATE_SUCCEEDED"


def test_what_runs_is_counted_in_words() -> None:
    assert in_words({"jobs": 1}) == "1 job"
    assert in_words({"jobs": 2, "studies": 1}) == "2 jobs and 1 study"
    assert in_words({"BigQuery jobs": 1, "deployed models": 2, "requests": 3}) == (
        "1 BigQuery job, 2 deployed models and 3 requests"
    )
