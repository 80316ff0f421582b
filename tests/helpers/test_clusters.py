"""write_manifest: a training for Kubernetes, checked as a server does, its command run here."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import yaml

from lesson import LessonError
from lesson.machines import kubernetes
from tests.helpers.sides import Side, both_sides
from tests.schemas.kubernetes_schemas import mistakes
from tests.torch_versions.running import LOOPBACK, free_port

ROOT = Path(__file__).parents[2]
IMAGE = "example.com/rented-machines:1"
ARGS = {
    "Google": {"train": "gs://b/t.npz", "val": "gs://b/v.npz"},
    "Amazon": {"train": "s3://b/t.npz", "val": "s3://b/v.npz"},
}


def written(side: Side, path: Path, **options: Any) -> list[dict[str, Any]]:
    """The documents of a manifest."""
    args = options.pop("args", ARGS[side.cloud])
    command = side.helpers.write_manifest(args, str(path), container_uri=IMAGE, **options)
    assert command == f"kubectl create --filename={path}"
    return [*yaml.safe_load_all(path.read_text())]


@pytest.mark.usefixtures("connection")
@pytest.mark.parametrize("kind", kubernetes.MAKERS)
@pytest.mark.parametrize(
    "options",
    [{}, {"replicas": 2, "gpu": "T4", "gpu_count": 4, "spot": True, "hours": 0.5}],
    ids=["plain", "all"],
)
def test_the_published_schema_has_nothing_against_a_manifest(
    side: Side, kind: str, options: dict[str, Any], tmp_path: Path
) -> None:
    documents = written(side, tmp_path / "deep" / "manifest.yaml", kind=kind, **options)
    assert [mistakes(each) for each in documents] == [[] for _ in documents]
    text = str(documents)
    assert f"--train={ARGS[side.cloud]['train']}" in text and IMAGE in text
    seconds, gpus = (1800, "{'nvidia.com/gpu': '4'}") if options else (7200, "'spec'")
    assert f"'activeDeadlineSeconds': {seconds}" in text and gpus in text
    spot = {"Google": "gke-spot", "Amazon": "capacityType"}[side.cloud]
    assert (spot in text, "nvidia-tesla-t4" in text or "g4dn.12xlarge" in text) == (
        (True, True) if options else (False, False)
    )


def test_a_schema_refuses_what_a_server_would(tmp_path: Path) -> None:
    training = kubernetes.Training("t", IMAGE, {}, 1, 0, 1.0, {}, {})
    (job,) = kubernetes.train_job(training)
    job["spec"]["trainer"]["numNode"] = 2
    job["spec"]["runtimePatches"][0].pop("manager")
    assert len(mistakes(job)) == 2
    service, plain = kubernetes.plain_job(training)
    plain["spec"]["template"]["spec"]["containers"][0]["args"] = "--epochs=3"
    service["spec"]["ports"] = 29500
    assert [len(mistakes(each)) for each in (plain, service)] == [1, 1]


def environment(container: dict[str, Any], rank: int, nodes: int, port: int) -> dict[str, str]:
    """A node's variables: those of the manifest, and what Kubernetes or Kubeflow Trainer adds.

    https://github.com/kubeflow/trainer, pkg/constants/constants.go, has the names of the latter.
    """
    own = {each["name"]: each["value"] for each in container.get("env", []) if "value" in each}
    added = {
        "PET_NNODES": str(nodes),
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": str(rank),
        "PET_MASTER_ADDR": "127.0.0.1",
        "PET_MASTER_PORT": str(port),
    }
    if "PET_NNODES" in own:  # a plain Job, which has them without Kubeflow Trainer
        assert {*own} | {"PET_NODE_RANK"} == {*added}
        assert own["PET_NNODES"] == str(nodes)
    return {**os.environ, **own, **added, "GLOO_SOCKET_IFNAME": LOOPBACK}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Job", "TrainJob"])
def test_two_nodes_that_run_the_manifests_command_train_the_model_of_the_managed_job(
    side: Side, data: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    args = data | {"epochs": 5, "model_dir": str(tmp_path / "model")}
    document = written(side, tmp_path / "manifest.yaml", args=args, kind=kind, replicas=2)[-1]
    if kind == "Job":
        (container,) = document["spec"]["template"]["spec"]["containers"]
    else:
        container = document["spec"]["trainer"]
    torchrun, script = container["command"]
    assert torchrun == "torchrun" and script == kubernetes.SCRIPT
    command = [sys.executable, "-m", "torch.distributed.run"]  # which is what torchrun is
    command += [str(ROOT / "training" / Path(script).name), *container["args"]]
    port = free_port()
    nodes = [
        subprocess.Popen(command, env=environment(container, rank, 2, port)) for rank in range(2)
    ]
    managed = side.helpers.train(data | {"epochs": 5})
    assert [node.wait(120) for node in nodes] == [0, 0]
    expected = torch.load(managed.folder / "model.pt")["model"]
    weights_found = torch.load(tmp_path / "model" / "model.pt")["model"]
    for name, weights in expected.items():
        torch.testing.assert_close(weights_found[name], weights, rtol=0, atol=1e-5)


def test_a_lost_pod_is_started_again_if_it_can_resume() -> None:
    limits = [
        kubernetes.plain_job(kubernetes.Training("t", IMAGE, args, 2, 0, 1.0, {}, {}))[1]["spec"]
        for args in ({}, {"checkpoint_every": 5})
    ]
    assert [each["backoffLimit"] for each in limits] == [0, 12]


@pytest.mark.usefixtures("connection")
@both_sides(fast="Amazon")
def test_a_manifest_needs_an_image_and_a_kind(side: Side, tmp_path: Path) -> None:
    path = str(tmp_path / "manifest.yaml")
    with pytest.raises(LessonError, match="name one as container_uri"):
        side.helpers.write_manifest(ARGS[side.cloud], path)
    with pytest.raises(LessonError, match="TrainJob and Job"):
        side.helpers.write_manifest(ARGS[side.cloud], path, kind="Pod", container_uri=IMAGE)
    assert not Path(path).exists()


def test_the_script_is_where_the_lessons_image_has_it() -> None:
    folder = str(Path(kubernetes.SCRIPT).parent)
    assert f"COPY training/ {folder}/" in (ROOT / "tools/image/Dockerfile").read_text()
