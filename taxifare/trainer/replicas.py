"""Several replicas train one model: each takes its share of every batch, all average gradients.

Vertex AI starts one process for each replica of the worker pools and sets CLUSTER_SPEC, and
TF_CONFIG, which says the same for TensorFlow ("Distributed training" in its documentation).
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from trainer.rides import Refused


class Place(NamedTuple):
    """Which of the replicas this process is."""

    rank: int  # 0 is the chief
    size: int
    chief: str  # host:port


def find_place(env: Mapping[str, str]) -> Place:
    """Return this process's place in the job: the chief's pool first, then the workers'."""
    spec = json.loads(env.get("CLUSTER_SPEC") or "{}")
    if not spec:
        return Place(0, 1, "")
    pools, task = spec["cluster"], (spec["task"]["type"], spec["task"]["index"])
    members = [(pool, index) for pool in sorted(pools) for index in range(len(pools[pool]))]
    if task not in members or not set(pools) <= {"workerpool0", "workerpool1"}:
        raise Refused(
            f"the job has the pools {', '.join(sorted(pools))}: give it a chief (workerpool0) and, "
            "if you like, workers (workerpool1)"
        )
    return Place(members.index(task), len(members), pools["workerpool0"][0])


def shares(rides: int, batch_size: int, place: Place, seed: int = 0) -> Iterator[np.ndarray]:
    """Yield a replica's rows of one batch after the other, without end.

    The rides are shuffled anew, in the same order on all replicas, whenever all were used.
    """
    if batch_size % place.size:
        raise Refused(
            f"--batch_size {batch_size}: {place.size} replicas cannot share it evenly; "
            f"make it a multiple of {place.size}"
        )
    random = np.random.default_rng(seed)
    orders = (random.permutation(rides) for _ in itertools.count())
    order = itertools.chain.from_iterable(orders)
    while True:
        yield np.array([*itertools.islice(order, batch_size)])[place.rank :: place.size]


class OnTorch:
    """Averages with torch.distributed."""

    def __init__(self, place: Place) -> None:
        """Wait until all replicas are there."""
        import torch.distributed as dist

        self.dist = dist
        dist.init_process_group(
            "gloo", init_method=f"tcp://{place.chief}", rank=place.rank, world_size=place.size
        )

    def average(self, gradients: list[Any]) -> list[Any]:
        """Return the means over all replicas, from one message for all gradients."""
        import torch

        total = torch.cat([each.reshape(-1) for each in gradients])
        self.dist.all_reduce(total)
        parts = torch.split(total / self.dist.get_world_size(), [g.numel() for g in gradients])
        return [part.view(each.shape) for part, each in zip(parts, gradients, strict=True)]

    def leave(self) -> None:
        """Wait for the others: the end of the chief is the end of the job."""
        self.dist.barrier()
        self.dist.destroy_process_group()


class OnTensorFlow:
    """Averages with TensorFlow's collective operations."""

    def __init__(self, place: Place) -> None:
        """Start this replica's server, as TF_CONFIG says, and wait until all are there."""
        import tensorflow as tf

        self.tf, self.size = tf, place.size
        self.strategy = tf.distribute.MultiWorkerMirroredStrategy()

    def _sum(self, tensor: Any, key: int) -> Any:
        return self.tf.raw_ops.CollectiveReduceV2(
            input=tensor,
            group_size=self.size,
            group_key=7700,  # any, but the same on all replicas
            instance_key=key,
            ordering_token=[],
            merge_op="Add",
            final_op="Id",
        )

    def average(self, gradients: list[Any]) -> list[Any]:
        """Return the means over all replicas, from one message for all gradients."""
        tf = self.tf
        total = self._sum(tf.concat([tf.reshape(each, [-1]) for each in gradients], 0), 1)
        sizes = [each.shape.num_elements() for each in gradients]
        parts = tf.split(total / self.size, sizes)
        return [tf.reshape(part, g.shape) for part, g in zip(parts, gradients, strict=True)]

    def leave(self) -> None:
        """Wait for the others: the end of the chief is the end of the job."""
        self._sum(self.tf.zeros([1]), 2)


class Alone:
    """One replica: its gradients are the mean."""

    def average(self, gradients: list[Any]) -> list[Any]:
        """Return the gradients."""
        return gradients

    def leave(self) -> None:
        """Wait for nobody."""


Group = Alone | OnTorch | OnTensorFlow


def join(place: Place) -> Group:
    """Form one group of all replicas; call it before anything else uses the backend."""
    if place.size == 1:
        return Alone()
    import keras

    backends: dict[str, type[OnTorch] | type[OnTensorFlow]]
    backends = {"torch": OnTorch, "tensorflow": OnTensorFlow}
    if (name := keras.backend.backend()) not in backends:
        raise Refused(f"KERAS_BACKEND={name}: several replicas need {' or '.join(backends)}")
    return backends[name](place)
