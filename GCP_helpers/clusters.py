"""A training on a Kubernetes cluster, as a manifest for Google's GKE."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from GCP_helpers import images
from GCP_helpers.machines import accelerator_name, choose
from GCP_helpers.session import current_session
from lesson.jobs import sending
from lesson.machines import kubernetes
from lesson.machines.kubernetes import Kind
from lesson.services.sessions import new_name


def write_manifest(
    args: Mapping[str, Any],
    path: str = "manifest.yaml",
    machine: str = "n1-standard-4",
    *,
    replicas: int = 1,
    gpu: str | None = None,
    spot: bool = False,
    gpu_count: int = 1,
    hours: float = 2.0,
    kind: Kind = "TrainJob",
    container_uri: str | None = None,
) -> str:
    """Write a training as a manifest for Kubernetes, and return the command that sends it.

    `args`, `machine`, `replicas`, `gpu`, `gpu_count` and `spot` mean what they mean to train();
    `kind` is "TrainJob", which needs Kubeflow Trainer in the cluster, or "Job". The nodes' labels
    are those of GKE. Nothing is sent. Raises LessonError for what is not there.
    """
    session = current_session()
    sending.check_readable(args, "gs://")
    machine, _ = choose(machine, gpu, gpu_count, region=session.region, zone=None)
    node_labels = {kubernetes.TYPE: machine}
    if gpu:
        node_labels["cloud.google.com/gke-accelerator"] = accelerator_name(gpu)
    if spot:
        node_labels["cloud.google.com/gke-spot"] = "true"
    name = new_name("train")
    training = kubernetes.Training(
        name=name,
        image=kubernetes.image_or_refuse(container_uri or images.own()),
        args={"model_dir": f"{session.uri}/runs/{name}/model", **args},
        nodes=replicas,
        gpus=gpu_count if gpu else 0,
        hours=hours,
        labels=session.labels,
        node_labels=node_labels,
    )
    return kubernetes.write(training, kind, path)
