"""Several replicas train one model: each takes its share of every batch, all average gradients.

Vertex AI starts one process for each replica of the worker pools and sets CLUSTER_SPEC, and
TF_CONFIG, which says the same for TensorFlow ("Distributed training" in its documentation).
"""

from __future__ import annotations

import itertools
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from trainer.rides import BadRides


class Replica(NamedTuple):
    """Which of the replicas this process is."""

    rank: int  # 0 is the chief
    size: int  # how many there are
    chief: str  # host:port


def find_replica(env: Mapping[str, str]) -> Replica:
    """Return which replica this process is; the chief is first, then come the workers."""
    spec = json.loads(env.get("CLUSTER_SPEC") or "{}")
    if not spec:
        return Replica(0, 1, "")
    pools, task = spec["cluster"], (spec["task"]["type"], spec["task"]["index"])
    members = [(pool, index) for pool in sorted(pools) for index in range(len(pools[pool]))]
    if task not in members or not set(pools) <= {"workerpool0", "workerpool1"}:
        raise BadRides(
            f"the job has the pools {', '.join(sorted(pools))}: give it a chief (workerpool0) and, "
            "if you like, workers (workerpool1)"
        )
    return Replica(members.index(task), len(members), pools["workerpool0"][0])


def shares(rides: int, batch_size: int, replica: Replica, seed: int = 0) -> Iterator[np.ndarray]:
    """Yield a replica's rows of one batch after the other, without end.

    The rides are shuffled anew, in the same order on all replicas, whenever all were used.
    """
    if batch_size % replica.size:
        raise BadRides(
            f"--batch_size {batch_size}: {replica.size} replicas cannot share it evenly; "
            f"make it a multiple of {replica.size}"
        )
    random = np.random.default_rng(seed)
    orders = (random.permutation(rides) for _ in itertools.count())
    order = itertools.chain.from_iterable(orders)
    while True:
        yield np.array([*itertools.islice(order, batch_size)])[replica.rank :: replica.size]


class Alone:
    """One replica: its gradients are the mean."""

    def average(self, gradients: list[Any]) -> list[Any]:
        """Return the gradients."""
        return gradients

    def leave(self) -> None:
        """Wait for nobody."""


class Together(ABC):
    """Several replicas; a backend says how they add a tensor up."""

    def __init__(self, replica: Replica) -> None:
        """Wait until all replicas are there."""
        self.size = replica.size

    @abstractmethod
    def total(self, tensor: Any) -> Any:
        """Return the sum of all replicas' tensors, which have the same shape."""

    def average(self, gradients: list[Any]) -> list[Any]:
        """Return the means over all replicas, from one message for all gradients."""
        from keras import ops

        message = ops.concatenate([ops.reshape(each, [-1]) for each in gradients])
        ends = itertools.accumulate(math.prod(each.shape) for each in gradients)
        parts = ops.split(self.total(message) / self.size, [*ends][:-1])
        return [ops.reshape(part, g.shape) for part, g in zip(parts, gradients, strict=True)]

    def leave(self) -> None:
        """Wait for the others: the end of the chief is the end of the job."""
        from keras import ops

        self.total(ops.zeros([1]))


class OnTorch(Together):
    """Adds up with torch.distributed."""

    def __init__(self, replica: Replica) -> None:
        """Wait until all replicas are there."""
        import torch.distributed as dist

        super().__init__(replica)
        self.dist = dist
        dist.init_process_group(
            "gloo",
            init_method=f"tcp://{replica.chief}",
            rank=replica.rank,
            world_size=replica.size,
        )

    def total(self, tensor: Any) -> Any:
        """Return the sum of all replicas' tensors, which have the same shape."""
        self.dist.all_reduce(tensor)  # in place
        return tensor

    def leave(self) -> None:
        """Wait for the others, and end the connections."""
        super().leave()
        self.dist.destroy_process_group()


class OnTensorFlow(Together):
    """Adds up with TensorFlow's collective operations."""

    def __init__(self, replica: Replica) -> None:
        """Start this replica's server, as TF_CONFIG says, and wait until all are there."""
        import tensorflow as tf

        super().__init__(replica)
        self.tf, self.strategy = tf, tf.distribute.MultiWorkerMirroredStrategy()

    def total(self, tensor: Any) -> Any:
        """Return the sum of all replicas' tensors, which have the same shape."""
        return self.tf.raw_ops.CollectiveReduceV2(
            input=tensor,
            group_size=self.size,
            group_key=7700,  # any, but the same on all replicas
            instance_key=tensor.shape[0],  # tensors of another length are another operation
            ordering_token=[],
            merge_op="Add",
            final_op="Id",
        )


Group = Alone | Together


def join(replica: Replica) -> Group:
    """Form one group of all replicas; call it before anything else uses the backend."""
    if replica.size == 1:
        return Alone()
    import keras

    backends: dict[str, type[Together]] = {"torch": OnTorch, "tensorflow": OnTensorFlow}
    if (name := keras.backend.backend()) not in backends:
        raise BadRides(f"KERAS_BACKEND={name}: several replicas need {' or '.join(backends)}")
    return backends[name](replica)
