"""Form one group of all replicas of a job, and of nobody else."""

# torch's own rendezvous listens on all networks, believes whatever it is sent there, cannot be
# interrupted while it waits, and joins what is left of a group that has lost a replica.

from __future__ import annotations

import contextlib
import hmac
import json
import os
import secrets
import threading
import time
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import torch
import torch.distributed as dist

story: Any  # train_nn.py, which loads this file

JOINING = timedelta(minutes=5)  # a service's machines start at different times
TOKEN = os.environ.get("JOB_TOKEN", "").encode()  # known to the replicas of a job and nobody else
BRIEFLY = timedelta(seconds=2)  # for rank 0 to answer, before it is asked again
MEETING = timedelta(seconds=20)  # once all have come, to connect with each other
STRANGER = "a process that does not know JOB_TOKEN poses as a replica; start the job again"


def form_group(backend: str) -> None:
    """Wait for the other replicas, and make one group of torch.distributed of all."""
    rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if backend != "nccl":
        be_a_batch_job()
    said = f"waiting for the other {size - 1} replicas, {JOINING} at most"
    waiting = threading.Timer(2, partial(print, said, flush=True))
    waiting.daemon = True
    waiting.start()
    try:
        if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # torchrun holds the store
            env = dist.rendezvous("env://", timeout=JOINING)  # type: ignore[attr-defined]
            store = dist.PrefixStore(mac(TOKEN).decode(), next(env)[0])  # type: ignore[attr-defined]
        else:
            store = meet(rank, size)
        store.set_timeout(MEETING)
        store = store if backend == "nccl" else sealed(store)  # nccl's threads wait for no Python
        dist.init_process_group(backend, store=store, rank=rank, world_size=size)
        prove_membership()
    except (OSError, RuntimeError, ValueError) as problem:
        reason = str(problem).split("\n")[0]
        raise ConnectionError(f"{size} replicas did not come together: {reason}") from None
    finally:
        waiting.cancel()


def be_a_batch_job() -> None:
    """Ask the kernel to let this thread, and those it starts, work on when another one wakes up."""
    # Else gloo's threads interrupt the replicas of a machine at every message, and with small
    # batches a step takes two or three times as long (benchmarks/). Linux alone can do that.
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


# ---- who does not know the token -----------------------------------------------------------------
def mac(key: bytes, *words: object) -> bytes:
    """Return what only somebody who knows the key can say of these words."""
    return hmac.new(key, repr(words).encode(), "sha256").hexdigest().encode()


def sealed(inner: Any) -> Any:
    """Return a store that takes no value without the job's seal: gloo connects where they say."""

    def get(_: Any, key: str) -> bytes:
        seal, value = (found := inner.get(key))[:64], found[64:]
        story.require(hmac.compare_digest(seal, mac(TOKEN, key, value)), STRANGER)
        return bytes(value)

    methods = {
        "get": get,
        "set": lambda _, key, value: inner.set(key, mac(TOKEN, key, bytes(value)) + bytes(value)),
        "wait": lambda _, keys, __=None: inner.wait(keys, MEETING),  # all have come already
    }
    return type("Sealed", (dist.Store,), methods)()  # type: ignore[attr-defined]


def prove_membership() -> None:
    """Have each two replicas prove to each other that both know the token."""
    rank, ranks = dist.get_rank(), range(dist.get_world_size())
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"

    def swap(parts: Sequence[bytes]) -> list[bytes]:  # 64 bytes for each and of each
        own = torch.frombuffer(bytearray(b"".join(parts)), dtype=torch.uint8).to(device)
        dist.all_to_all_single(found := torch.empty_like(own), own, async_op=True).wait(MEETING)
        return [bytes(part) for part in found.view(-1, 64).tolist()]

    nonces = [secrets.token_hex(32).encode() for _ in ranks]
    answers = swap([mac(TOKEN, rank, other, nonce) for other, nonce in enumerate(swap(nonces))])
    wanted = b"".join(mac(TOKEN, other, rank, nonces[other]) for other in ranks)
    proven = hmac.compare_digest(b"".join(answers), wanted)
    unproven = bytes(64) in swap([bytes([proven] * 64)] * len(ranks))  # on whichever replica
    story.require(not unproven, STRANGER)


# ---- the meeting ---------------------------------------------------------------------------------
def meet(rank: int, size: int) -> Any:
    """Return rank 0's store, once all have come; never that of a group that has lost a replica."""
    launch = getattr(story, "launch", None) or story.companion("launch", "several replicas")
    door, launch.door = launch.door or launch.listen(os.environ), None
    fd, me = door.detach() if door else None, f"{rank} {secrets.token_hex(8)}"
    host, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    ranks, hidden = [*map(str, range(size))], partial(dist.PrefixStore, mac(TOKEN).decode())  # type: ignore[attr-defined]
    end, met = time.monotonic() + JOINING.total_seconds(), False
    while True:
        try:
            # torch 2.4 takes no open socket with libuv.
            store: Any = dist.TCPStore(  # type: ignore[attr-defined]
                host, port, size, rank == 0, BRIEFLY, False, master_listen_fd=fd, use_libuv=False
            )
            inner, store = store, hidden(store)
            store.set(str(rank), me)
            if store.compare_set("size", "", str(size)) != str(size).encode():
                store.set("unlike", "")
            met = not launch.restarts
            if rank == 0:
                look_for(store, ranks, end)
                store.set("group", json.dumps([store.get(rank).decode() for rank in ranks]))
            look_for(store, ["group"], end)
            if me in json.loads(group := store.get("group")):  # whose names are in no other
                return dist.PrefixStore(mac(TOKEN, group).decode(), inner)  # type: ignore[attr-defined]
        except RuntimeError:
            if rank == 0 or met:
                raise
        if time.monotonic() > end:
            raise ValueError(f"rank 0 at {host}:{port} does not answer")
        time.sleep(0.2)  # what answered there has lost a replica and is about to end


def look_for(store: Any, keys: list[str], end: float) -> None:
    """Wait until the store has all these; unlike its own waiting, this one can be interrupted."""
    while not store.check(keys):
        if store.check(["unlike"]):
            time.sleep(0.5)  # all look here, before the first of them takes the store with it
            raise story.Refused("machines with different numbers of GPUs; choose machines alike")
        if time.monotonic() > end:
            raise ValueError("not all came")
        time.sleep(0.02)
