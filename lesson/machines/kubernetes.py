"""A training as a manifest for Kubernetes: a TrainJob of Kubeflow Trainer, or a plain Job."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from lesson import LessonError
from lesson.machines.this_machine import flags

Kind = Literal["TrainJob", "Job"]
Documents = list[dict[str, Any]]

SCRIPT = "/opt/lesson/training/train_nn.py"  # in the lesson's image: tools/image/Dockerfile
RUNTIME = "torch-distributed"  # comes with Kubeflow Trainer: manifests/base/runtimes
CONTAINER = "node"  # that runtime's name of the replicated job and of its container
PORT = 29500  # where the replicas of several nodes meet; torch's own
ACCOUNT = "lesson"  # the cluster's service account, which may read and write the bucket
TYPE = "node.kubernetes.io/instance-type"  # a label that each cloud's nodes have
TRIES = 6  # Kubernetes' own default
KEPT = 24 * 3600  # seconds for which an ended job can be looked at


@dataclass(frozen=True)
class Training:
    """What a manifest says."""

    name: str
    image: str
    args: Mapping[str, Any]  # flags of train_nn.py
    nodes: int
    gpus: int  # of each node
    hours: float
    labels: Mapping[str, str]
    node_labels: Mapping[str, str]  # of the nodes that it may run on

    @property
    def container(self) -> dict[str, Any]:
        """Return the container without what torchrun reads in variables that begin with PET_."""
        return {
            "image": self.image,
            "command": ["torchrun", SCRIPT],
            "args": flags(self.args),
        }

    @property
    def resources(self) -> dict[str, Any]:
        """Return what a node's container needs: its GPUs, of which it has the node's driver."""
        return {"limits": {"nvidia.com/gpu": str(self.gpus)}} if self.gpus else {}

    @property
    def deadline(self) -> int:
        """Return the seconds after which Kubernetes ends the job."""
        return round(self.hours * 3600)

    @property
    def tries(self) -> int:
        """Return how often a lost pod is started again: it needs a checkpoint to resume from."""
        return TRIES if str(self.args.get("checkpoint_every", 0)) not in ("0", "0.0") else 0

    @property
    def metadata(self) -> dict[str, Any]:
        """Return name and labels."""
        return {"name": self.name, "labels": dict(self.labels)}

    @property
    def pod(self) -> dict[str, Any]:
        """Return what both kinds say of a pod, beside its container.

        NCCL's processes exchange through shared memory, of which a container has 64 MB by itself.
        """
        memory = [{"name": "shared-memory", "emptyDir": {"medium": "Memory"}}]
        return {
            "serviceAccountName": ACCOUNT,
            "nodeSelector": dict(self.node_labels),
            **({"volumes": memory} if self.gpus > 1 else {}),
        }

    @property
    def mounts(self) -> dict[str, Any]:
        """Return where the container has the pod's volumes."""
        mounts = [{"name": "shared-memory", "mountPath": "/dev/shm"}]
        return {"volumeMounts": mounts} if self.gpus > 1 else {}


def train_job(training: Training) -> Documents:
    """Return a TrainJob: Kubeflow Trainer adds nodes, their names and ranks."""
    patch = {**training.pod}
    if training.mounts:
        patch["containers"] = [{"name": CONTAINER, **training.mounts}]
    job = {"name": CONTAINER, "template": {"spec": {"template": {"spec": patch}}}}
    return [
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": training.metadata,
            "spec": {
                "runtimeRef": {"name": RUNTIME},
                "activeDeadlineSeconds": training.deadline,
                "trainer": {
                    **training.container,
                    "numNodes": training.nodes,
                    "numProcPerNode": max(1, training.gpus),
                    **({"resourcesPerNode": training.resources} if training.resources else {}),
                },
                "runtimePatches": [
                    {
                        "manager": "neural-networks.lesson/helpers",
                        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}},
                    }
                ],
            },
        }
    ]


def plain_job(training: Training) -> Documents:
    """Return a Job whose pods know their number, and a Service by which they find pod 0."""
    rank = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    variables = {
        "PET_NNODES": str(training.nodes),
        "PET_NPROC_PER_NODE": str(max(1, training.gpus)),
        "PET_MASTER_ADDR": f"{training.name}-0.{training.name}",
        "PET_MASTER_PORT": str(PORT),
    }
    container = {**training.container, "name": CONTAINER, **training.mounts}
    container["env"] = [
        *({"name": name, "value": value} for name, value in variables.items()),
        {"name": "PET_NODE_RANK", "valueFrom": {"fieldRef": {"fieldPath": rank}}},
    ]
    if training.resources:
        container["resources"] = training.resources
    pod = {
        **training.pod,
        "subdomain": training.name,
        "restartPolicy": "Never",
        "containers": [container],
    }
    service = {
        "clusterIP": "None",
        "selector": {"job-name": training.name},
        "publishNotReadyAddresses": True,
    }
    return [
        {"apiVersion": "v1", "kind": "Service", "metadata": training.metadata, "spec": service},
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": training.metadata,
            "spec": {
                "completionMode": "Indexed",
                "completions": training.nodes,
                "parallelism": training.nodes,
                "backoffLimit": training.tries * training.nodes,
                "activeDeadlineSeconds": training.deadline,
                "ttlSecondsAfterFinished": KEPT,
                "template": {"metadata": {"labels": dict(training.labels)}, "spec": pod},
            },
        },
    ]


MAKERS: Mapping[str, Callable[[Training], Documents]] = {"TrainJob": train_job, "Job": plain_job}


def write(training: Training, kind: str, path: str) -> str:
    """Write a manifest, and return the command that sends it to a cluster.

    Raises LessonError for a kind that is not known here.
    """
    import yaml

    if kind not in MAKERS:
        raise LessonError(f"kind={kind!r}: known here are {' and '.join(MAKERS)}")
    documents = MAKERS[kind](training)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(yaml.safe_dump_all(documents, sort_keys=False), encoding="utf-8")
    return f"kubectl create --filename={path}"


def image_or_refuse(image: str | None) -> str:
    """Return the image, or raise LessonError if none is known."""
    if image is None:
        raise LessonError(
            "a cluster needs an image that holds train_nn.py: name one as container_uri, or in "
            "LESSON_IMAGE; `python -m tools.image --help` says how to build the lesson's own"
        )
    return image
