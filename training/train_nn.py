"""Train a small neural network that answers yes or no about each row of a table.

Run it in a terminal, with %run in a notebook, or on a training service; copy it for your own table.
    python train_nn.py --train train_data.npz --val val_data.npz --epochs 200 --batch_size 64
Reads   --train: npz archives with X_train (rows, features) and y_train (rows,), labels 0 or 1: one
        archive, a folder or a pattern of them; several together are one table, in order of name
        --val: the same with X_val and y_val
Writes  model.pt, metrics.json, history.csv and training.log side by side into --model_dir, and
        preparation.json where the training archive carries the preparation it was made with;
        metrics.json comes last: where it lies, the results are whole
        With --checkpoint_every N, after every N epochs, all that the next step depends on into
        --checkpoint_dir: a run that finds the checkpoint of one that did not end goes on from it
        With --tensorboard_dir, or where Vertex AI names such a folder: events for TensorBoard
        Any of these may be a gs:// or s3:// address.
        A trial of Vertex AI's tuner reports validation_loss and validation_accuracy to it
Exits   with 0 when the model is written; with 2 and one sentence when an input cannot be used; with
        1 and one sentence when another replica is lost; with 130 after Ctrl-C; with 134 when it was
        ended before its time and its checkpoint waits for the next start
Started as N replicas, by Vertex AI, SageMaker or torchrun, or on a machine with N GPUs, it trains
one model. --parallelism data: each replica works on rows of its own, the gradients are added up at
every step. --parallelism model: each replica holds a part of every layer, and all work on all rows.
Replica 0 prints and writes for all. Several GPUs of one machine, and --checkpoint_every on several
replicas, need launch.py beside this file.
"""

import argparse
import contextlib
import fnmatch
import functools
import gc
import glob
import hashlib
import hmac
import importlib.util
import io
import itertools
import json
import math
import os
import pickle
import re
import secrets
import signal
import socket
import sys
import threading
import time
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

STARTED = time.perf_counter()
# The exit code of a run that is to be started again: that of SIGABRT, which Vertex AI takes for an
# error that may pass, and for which it starts the job again, up to three times.
RESTART = 134


def complain(sentence: str) -> None:
    """Say what went wrong: in one write, lest the lines of several replicas run together."""
    sys.stderr.write(f"train_nn.py: {sentence}\n")
    sys.stderr.flush()


class Refused(Exception):
    """An input cannot be used; the message says what, where and what to do."""


def need(fulfilled: object, otherwise: str) -> None:
    """Refuse the input with this message unless the condition is fulfilled."""
    if not fulfilled:
        raise Refused(otherwise)


class RefusedElsewhere(Refused):
    """Another replica cannot use an input, or this one and others: all of them know."""


class Lost(Exception):
    """Another replica never came or is gone."""


class Stopped(BaseException):
    """This run was asked to end; it goes on from its checkpoint when it is started again."""


class Place(NamedTuple):
    """This process among the replicas that train one model together; by default it is alone."""

    rank: int = 0
    world_size: int = 1
    master: tuple[str, int] | None = None  # where rank 0 is met; None: torch's own variables say it
    local_rank: int = 0  # among the replicas of this machine: the number of its GPU


def find_place(environment: Mapping[str, str]) -> Place:
    """Work out the place from the variables that torchrun or a training service sets."""
    if given := environment.get("TRAIN_NN_PLACE"):  # from start_here()
        rank, size, master, local_rank = json.loads(given)
        return Place(rank, size, tuple(master), local_rank)
    spec, size, hosts = (environment.get(n, "") for n in ("CLUSTER_SPEC", "WORLD_SIZE", "SM_HOSTS"))
    on_vertex = spec and "TORCHELASTIC_RUN_ID" not in environment
    try:
        if on_vertex:  # where WORLD_SIZE counts machines; everywhere else it counts processes
            return place_on_vertex(**json.loads(spec))
        if size:
            ranks, local_rank = range(int(size)), int(environment.get("LOCAL_RANK") or 0)
            return Place(ranks.index(int(environment["RANK"])), len(ranks), None, local_rank)
        return place_on_sagemaker(sorted(json.loads(hosts)), environment) if hosts else Place()
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        name = "CLUSTER_SPEC" if on_vertex else "WORLD_SIZE and RANK" if size else "SM_HOSTS"
        raise Refused(f"{name} cannot be used ({problem}); unset it to train alone") from None


def place_on_vertex(cluster: Any, task: Any, **_: object) -> Place:
    """The place that CLUSTER_SPEC gives: first the chief's pool, then that of the workers."""
    pools, own = ("workerpool0", "workerpool1"), (task["type"], task["index"])
    stranger = own[0] in cluster and own[0] not in pools  # a parameter server, an evaluator
    need(not stranger, f"this replica is in {own[0]}: this script has roles for {pools} only")
    places = [(pool, index) for pool in pools for index in range(len(cluster.get(pool, ())))]
    host, _, port = cluster["workerpool0"][0].rpartition(":")
    master = (host, range(2**16).index(int(port))) if len(places) > 1 else None
    return Place(places.index(own), len(places), master)


def place_on_sagemaker(hosts: list[str], environment: Mapping[str, str]) -> Place:
    """The place among the hosts by name (algo-10 before algo-2), which SageMaker does not join."""
    if len(hosts) == 1:
        return Place()
    # The SDK's version 3 says where they meet in SM_MASTER_*, version 2 in MASTER_*.
    host, port = (environment.get(f"SM_{name}") or environment.get(name)
                  for name in ("MASTER_ADDR", "MASTER_PORT"))  # fmt: skip
    master = (host or hosts[0], range(2**16).index(int(port or 7777)))
    return Place(hosts.index(environment["SM_CURRENT_HOST"]), len(hosts), master)


def gpus_here(environment: Mapping[str, str]) -> int:
    """How many NVIDIA GPUs this process may use; CUDA's own variable goes before the driver."""
    if (named := environment.get("CUDA_VISIBLE_DEVICES")) is not None:
        return len([gpu for gpu in named.split(",") if gpu.strip() not in ("", "-1")])
    return len(list(Path("/proc/driver/nvidia/gpus").glob("*")))


def replicas_here(place: Place, flags: argparse.Namespace, environment: Mapping[str, str]) -> int:
    """How many replicas this process is to start and to watch over; 0: it is a replica itself."""
    if "TRAIN_NN_PLACE" in environment or (place.world_size > 1 and not place.master):
        return 0  # started by start_here() or by torchrun
    gpus = gpus_here(environment) if flags.device in ("auto", "cuda") else 0
    if gpus > 1:
        return gpus
    return 1 if place.world_size > 1 and flags.checkpoint_every else 0


def open_door(place: Place) -> socket.socket | None:
    """Rank 0's socket, open before torch is imported: who is refused tries again a second later."""
    if place.rank or not place.master:
        return None
    host, port = place.master  # replicas of one machine need not be reached from another
    return socket.create_server((host if host in ("127.0.0.1", "localhost") else "", port))


@functools.cache
def companion(name: str, flag: str) -> Any:
    """A module that lies beside this file, for a flag that needs it."""
    path = Path(__file__).resolve().with_name(f"{name}.py")
    need(path.is_file(), f"{flag} needs {path.name}; send the folder training/, not one file alone")
    spec: Any = importlib.util.spec_from_file_location(f"{__name__}_{name}", path)
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def start_here(flags: argparse.Namespace) -> int:
    """Start this machine's replicas and watch over them; returns the exit code of them all."""
    flag = "a machine of several GPUs" if flags.replicas > 1 else "--checkpoint_every on replicas"
    launch = companion("launch", flag)
    place, here = flags.place, flags.replicas
    with socket.create_server(("127.0.0.1", 0)) as probe:
        master = place.master or probe.getsockname()
    ranks = range(place.rank * here, (place.rank + 1) * here)
    places = [Place(rank, place.world_size * here, master, rank - ranks[0]) for rank in ranks]
    token = os.environ.get("JOB_TOKEN", "" if place.master else secrets.token_hex())
    environments = [{"TRAIN_NN_PLACE": json.dumps(each), "JOB_TOKEN": token} for each in places]
    command, restarts = [sys.executable, __file__, *sys.argv[1:]], bool(flags.checkpoint_every)
    code: int = launch.supervise(command, environments, restarts, complain)
    return code


def numeric(low: int, cast: type, text: str) -> Any:
    """A number from `low` up; for int a whole one, also when a tuner writes it as 64.0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if low <= value <= 2**53 and cast(value) == value:  # up to there a float is exact
        return cast(value)
    whole = "whole " * (cast is int)
    raise argparse.ArgumentTypeError(f"needs a {whole}number from {low} up, not {text!r}")


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake costs one sentence instead of a page of usage."""

    def error(self, message: str) -> Any:
        """Say the mistake and leave with exit code 2."""
        self.exit(2, f"train_nn.py: {message}; --help lists the flags\n")


def channel(part: str) -> str | None:
    """What SageMaker's channel of that name holds: its one archive, or the folder of several."""
    folder = os.environ.get(f"SM_CHANNEL_{part.upper()}")
    found = [*Path(folder or os.devnull).glob("*.npz")]
    return str(found[0]) if len(found) == 1 else folder or None


def default_checkpoints(flags: argparse.Namespace) -> str:
    """Where the checkpoints belong if neither the user nor a service says so."""
    return f"{flags.model_dir.rstrip('/')}/checkpoints"


def checkpoint_folder(flags: argparse.Namespace) -> str:
    """Where the checkpoints belong: as asked, else where the service keeps them."""
    on_sagemaker = Path(os.environ.get("SM_MODEL_DIR") or os.devnull).with_name("checkpoints")
    own = on_sagemaker if on_sagemaker.is_dir() else default_checkpoints(flags)
    return str(flags.checkpoint_dir or os.environ.get("AIP_CHECKPOINT_DIR") or own)


# fmt: off
def parse_flags(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the flags; those that a service adds and this script does not know end in `unknown`."""
    parser = Parser("train_nn.py", description=(__doc__ or "").split("\n")[0], allow_abbrev=False,
                    formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    flag, whole, real = parser.add_argument, partial(numeric, 0, int), partial(numeric, 0, float)
    from_1 = partial(numeric, 1, int)
    for part in ("train", "val"):  # on SageMaker a channel of that name will do
        flag(f"--{part}", required=not channel(part), default=channel(part),
             help=f"npz archive with X_{part} and y_{part}, or a folder or a pattern of several")
    flag("--epochs", type=from_1, default=1000, help="passes over the training rows, at most")
    flag("--learning_rate", type=real, default=0.001, help="how far a step moves the weights")
    flag("--batch_size", type=whole, default=0, help="rows per step; 0: all rows")
    flag("--hidden", type=lambda text: [from_1(item) for item in text.split(",")],
         default=[64, 32], metavar="64,32", help="widths of the hidden layers")
    flag("--patience", type=whole, default=50, help="stop after N epochs without gain; 0: never")
    flag("--min_delta", type=real, default=0.0, help="smaller gains do not count")
    flag("--restore_best", type=lambda text: {"true": True, "false": False}.get(text.lower(), text),
         choices=(True, False), default=True, help="keep the best weights, not the last")
    flag("--seed", type=whole, default=0, help="same seed, same machine: same model")
    flag("--device", default="auto", help="auto, cpu, cuda, mps or xla")
    flag("--parallelism", choices=("data", "model"), default="data",
         help="what several replicas share out: the rows, or the layers")
    flag("--checkpoint_every", type=whole, default=0, help="epochs between checkpoints; 0: none")
    flag("--checkpoint_dir", help="folder, gs:// or s3://; or AIP_CHECKPOINT_DIR, or SageMaker's, "
         "or checkpoints/ in --model_dir")
    flag("--model_dir", help="folder, gs:// or s3:// for results; or AIP_MODEL_DIR, SM_MODEL_DIR",
         default=os.environ.get("AIP_MODEL_DIR") or os.environ.get("SM_MODEL_DIR") or ".")
    flag("--tensorboard_dir", help="folder, gs:// or s3:// for TensorBoard's events; or "
         "AIP_TENSORBOARD_LOG_DIR", default=os.environ.get("AIP_TENSORBOARD_LOG_DIR"))
    flags, unknown = parser.parse_known_args(arguments)
    if unknown and not unknown[0].startswith("-"):
        parser.error(f"{unknown[0]!r} belongs to no flag")
    flags.checkpoint_dir = checkpoint_folder(flags)
    try:
        flags.place = find_place(os.environ)
        flags.replicas = replicas_here(flags.place, flags, os.environ)
        flags.door = None if flags.replicas else open_door(flags.place)
        flags.line = None
        if "TRAIN_NN_PLACE" in os.environ:
            flags.line = companion("launch", "a replica that another process started").hold_line()
    except (Refused, OSError) as problem:
        parser.exit(2, f"train_nn.py: {problem}\n")
    return argparse.Namespace(**vars(flags), unknown=unknown, sigterm=None)
# fmt: on


FLAGS = parse_flags() if __name__ == "__main__" else None
if FLAGS and FLAGS.replicas:
    try:
        sys.exit(start_here(FLAGS))
    except Refused as problem:
        complain(str(problem))
        sys.exit(2)
# torch takes about a second to import: --help, a mistaken flag and what watches over the replicas
# should not have to wait for it.
SPINS = "2000"  # looks of a waiting thread at its work before it sleeps (benchmarks/): it looks for
if FLAGS:  # long, a busy machine stands still; it sleeps at once, a quiet one is half as fast
    os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
if FLAGS and FLAGS.place.world_size > 1:  # of a lost connection torch would print its C++ stack
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")

try:
    import numpy as np
    import torch
    import torch.distributed as dist
    from torch.nn import Linear, ReLU, Sequential
    from torch.nn.functional import binary_cross_entropy_with_logits
    from torch.optim.adam import adam
except KeyboardInterrupt:  # likely enough in a second
    sys.exit(130)

# Importing torch makes objects by the hundred thousand that live to the end: collecting them would
# cost a fifth of the time to start and leave (benchmarks/). A notebook's objects are not ours.
if __name__ == "__main__" and "IPython" not in sys.modules:
    gc.freeze()


class Part(NamedTuple):
    """Rows that follow each other in the whole table."""

    X: Any  # (rows, features)
    y: Any  # (rows, 1)
    start: int  # the place of the first of them in the whole table


class Table(NamedTuple):
    """Rows of a table; of several replicas each holds only its own."""

    parts: list[Part]
    whole: int  # rows of the whole table
    features: int
    shares: list[list[range]]  # the rows of each replica, by rank
    digest: str  # of the whole table's content
    device: torch.device  # where the batches go


def choose_device(wanted: str, local_rank: int = 0) -> torch.device:
    """The device to train on; `auto` takes the first of CUDA, TPU and Apple GPU that is there."""
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    here = {"cuda": cuda, "xla": importlib.util.find_spec("torch_xla"), "mps": mps, "cpu": True}
    usable = [name for name, there in here.items() if there]
    name = usable[0] if wanted == "auto" else wanted.lower()
    need(name in usable, f"--device {wanted}: here torch can use {' or '.join(usable)}; name one")
    if name == "cuda":
        gpus = torch.cuda.device_count()
        need(local_rank < gpus, f"--device {wanted}: a replica too many for {gpus} GPUs; start "
             "one for each")  # fmt: skip
        torch.cuda.set_device(local_rank)
        return torch.device(name, local_rank)
    return importlib.import_module("torch_xla").device() if name == "xla" else torch.device(name)


def choose_threads(rows_per_step: int, weights: int) -> int:
    """One CPU thread for each 50 million operations of a step: less gains little (benchmarks/)."""
    operations = 6 * rows_per_step * weights  # multiply and add: once forward, twice backward
    return max(1, min(torch.get_num_threads(), operations // 50_000_000))


def keep_memory() -> None:
    """Have large batches find the memory of the step before, and be twice as fast (benchmarks/)."""
    # glibc hands freed blocks back at once, until it has freed one of nearly 32 MiB, its limit.
    torch.empty(8 * 2**20 - 4096)


JOINING = timedelta(minutes=5)  # a service's machines start at different times
TOKEN = os.environ.get("JOB_TOKEN", "").encode()  # known to the replicas of a job and nobody else
BRIEFLY = timedelta(seconds=2)  # for rank 0 to answer, before it is asked again
MEETING = timedelta(seconds=20)  # once all have come, to connect with each other
ENDED = "another replica ended or cannot be reached"
STRANGER = "another process takes a replica's place: it does not know JOB_TOKEN; start again"


def out_of_memory(problem: Exception) -> bool:
    """Whether an error of Python or torch says that there is no memory left."""
    said = str(problem)
    return isinstance(problem, MemoryError) or "allocate memory" in said or "out of memory" in said


@contextlib.contextmanager
def connected() -> Iterator[None]:
    """Say in one sentence that a replica is lost."""
    try:
        yield
    except RuntimeError as problem:
        if out_of_memory(problem):
            raise
        raise Lost(ENDED) from None


def be_a_batch_job() -> None:
    """Ask the kernel to let this thread, and those it starts, work on when another one wakes up."""
    # Else gloo's threads interrupt the replicas of a machine at every message, and with small
    # batches a step takes two or three times as long (benchmarks/). Linux alone can do that.
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def join(place: Place, flags: argparse.Namespace, device: torch.device) -> None:
    """Wait for the other replicas, and make one group of torch.distributed of all."""
    if interface := os.environ.get("SM_NETWORK_INTERFACE_NAME"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)  # else that of the host's own name
    if device.type != "cuda":
        be_a_batch_job()
    said = f"waiting for the other {place.world_size - 1} replicas, {JOINING} at most"
    waiting = threading.Timer(2, partial(print, said, flush=True))
    waiting.daemon = True
    waiting.start()
    try:
        if place.master:
            store = meet(place, flags.door, bool(flags.checkpoint_every))
        else:
            env = dist.rendezvous("env://", timeout=JOINING)  # type: ignore[attr-defined]
            store = dist.PrefixStore(mac(TOKEN).decode(), next(env)[0])  # type: ignore[attr-defined]
        store.set_timeout(MEETING)
        backend = "nccl" if device.type == "cuda" else "gloo"
        store = store if backend == "nccl" else sealed(store)  # nccl's threads wait for no Python
        dist.init_process_group(backend, store=store, rank=place.rank, world_size=place.world_size)
        prove_membership(place)
    except (RuntimeError, ValueError) as problem:
        reason = str(problem).split("\n")[0]
        raise Lost(f"{place.world_size} replicas did not come together: {reason}") from None
    finally:
        waiting.cancel()


def mac(key: bytes, *words: object) -> bytes:
    """What only somebody who knows the key can say of these words."""
    return hmac.new(key, repr(words).encode(), "sha256").hexdigest().encode()


def sealed(inner: Any) -> Any:
    """A store whose values count only with the job's seal: gloo connects where they tell it to."""

    def get(_: Any, key: str) -> bytes:
        seal, value = (found := inner.get(key))[:64], found[64:]
        need(hmac.compare_digest(seal, mac(TOKEN, key, value)), STRANGER)
        return bytes(value)

    methods = {
        "get": get,
        "set": lambda _, key, value: inner.set(key, mac(TOKEN, key, bytes(value)) + bytes(value)),
        "wait": lambda _, keys, __=None: inner.wait(keys, MEETING),  # all have come already
    }
    return type("Sealed", (dist.Store,), methods)()  # type: ignore[attr-defined]


def prove_membership(place: Place) -> None:
    """Have each two replicas prove to each other that both know the token."""
    rank, ranks = place.rank, range(place.world_size)

    def swap(parts: Sequence[bytes]) -> list[bytes]:  # 64 bytes for each and of each
        own = on_wire(b"".join(parts))
        dist.all_to_all_single(found := torch.empty_like(own), own, async_op=True).wait(MEETING)
        return [bytes(part) for part in found.view(-1, 64).tolist()]

    nonces = [secrets.token_hex(32).encode() for _ in ranks]
    answers = swap([mac(TOKEN, rank, other, nonce) for other, nonce in enumerate(swap(nonces))])
    wanted = b"".join(mac(TOKEN, other, rank, nonces[other]) for other in ranks)
    proven = hmac.compare_digest(b"".join(answers), wanted)
    need(bytes(64) not in swap([bytes([proven] * 64)] * len(ranks)), STRANGER)  # none is unproven


def meet(place: Place, door: socket.socket | None, comes_again: bool) -> Any:
    """Rank 0's store, once all have come to it; never that of a group that has lost a replica."""
    fd, me = door.detach() if door else None, f"{place.rank} {secrets.token_hex(8)}"
    (host, port), ranks = place.master or ("", 0), [*map(str, range(place.world_size))]
    end, met = time.monotonic() + JOINING.total_seconds(), False
    while True:
        try:
            store: Any = dist.TCPStore(  # type: ignore[attr-defined]
                host, port, len(ranks), place.rank == 0, BRIEFLY, False, master_listen_fd=fd
            )
            hidden: Any = partial(dist.PrefixStore, store=store)  # type: ignore[attr-defined]
            store = hidden(mac(TOKEN).decode())
            store.set(str(place.rank), me)
            if store.compare_set("size", "", str(len(ranks))) != str(len(ranks)).encode():
                store.set("unlike", "")
            met = not comes_again
            if place.rank == 0:
                look_for(store, ranks, end)
                store.set("group", json.dumps([store.get(rank).decode() for rank in ranks]))
            look_for(store, ["group"], end)
            if me in json.loads(group := store.get("group")):  # whose names are in no other
                return hidden(mac(TOKEN, group).decode())
        except RuntimeError:
            if place.rank == 0 or met:
                raise
        if time.monotonic() > end:
            raise ValueError(f"rank 0 at {place.master} does not answer")
        time.sleep(0.2)  # what answered there has lost a replica and is about to end


def look_for(store: Any, keys: list[str], end: float) -> None:
    """Wait until the store has all these; unlike its own waiting, this one can be interrupted."""
    while not store.check(keys):
        if store.check(["unlike"]):
            time.sleep(0.5)  # all look here, before the first of them takes the store with it
            raise RefusedElsewhere("machines with different numbers of GPUs; choose machines alike")
        if time.monotonic() > end:
            raise ValueError("not all came")
        time.sleep(0.02)


def sum_up(own: torch.Tensor, place: Place) -> torch.Tensor:
    """The sum over all replicas, to the last bit the same for each of them."""
    if place.world_size == 1:
        return own
    total = own if own.device.type == "cuda" else own.cpu()  # where nccl or gloo adds
    with connected():
        dist.all_reduce(total)
    return total.to(own.device)


def own_rows(rows: int, place: Place) -> range:
    """A replica's own rows of a table: together all of them, none of them twice."""
    return range(*(rows * rank // place.world_size for rank in (place.rank, place.rank + 1)))


def on_wire(content: bytes) -> torch.Tensor:
    """Bytes on the device of what the replicas tell each other."""
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).to(device)


def exchange(work: Callable[[], Any], place: Place) -> list[Any]:
    """What work() returns on each replica, as JSON, by rank; what one refuses, all refuse."""
    if place.world_size == 1:
        return [work()]
    try:
        said = (work(), "")
    except (Refused, OSError) as problem:  # an OSError names its file
        said = (None, str(problem))
    own = on_wire(json.dumps(said).encode())  # a pickle could run code
    lengths = own.new_zeros(place.world_size, 1, dtype=torch.int64)
    with connected():
        dist.all_gather(list(lengths), lengths.new_tensor([len(own)]))
        need((longest := int(lengths.max())) <= 2**26, "the replicas tell each other too much")
        found = own.new_zeros(place.world_size, longest)
        dist.all_gather(list(found), torch.nn.functional.pad(own, (0, longest - len(own))))
    everything = [json.loads(bytes(x[:n])) for x, n in zip(found.tolist(), lengths, strict=True)]
    for refused in (refused for _, refused in everything if refused):
        raise RefusedElsewhere(refused)
    return [found for found, _ in everything]


WINDOW = 2**24  # so many float32 numbers, 64 MiB, are held at once of a table larger than that


def google_objects(address: str) -> SimpleNamespace:
    """What google-cloud-storage does with the objects whose names begin with a gs:// address."""
    from google.cloud.storage import Blob, Client

    bucket, _, prefix = address.removeprefix("gs://").partition("/")
    blob = partial(lambda client, name: Blob.from_uri(address + name, client), client := Client())
    found = partial(client.list_blobs, bucket, prefix=prefix)
    return SimpleNamespace(
        read=lambda name: blob(name).download_as_bytes(),
        write=lambda contents: [blob(n).upload_from_string(bytes(b)) for n, b in contents.items()],
        grow=lambda name, content, _: blob(name).upload_from_string(content),
        delete=lambda name: blob(name).exists() and blob(name).delete(),
        attempt=lambda name: blob(name).create_resumable_upload_session(),
        names=lambda: [item.name.removeprefix(prefix) for item in found()],
    )


def amazon_objects(address: str) -> SimpleNamespace:
    """What boto3 does, with the credentials and endpoint that it finds, below an s3:// address."""
    import boto3

    bucket, _, prefix = address.removeprefix("s3://").partition("/")
    item = partial(lambda s3, name: s3.Object(bucket, prefix + name), s3 := boto3.resource("s3"))
    found = partial(lambda: s3.Bucket(bucket).objects.filter(Prefix=prefix))
    return SimpleNamespace(
        read=lambda name: item(name).get()["Body"].read(),
        write=lambda contents: [item(name).put(Body=bytes(b)) for name, b in contents.items()],
        grow=lambda name, content, _: item(name).put(Body=content),
        delete=lambda name: item(name).delete(),
        attempt=lambda name: item(name).initiate_multipart_upload().abort(),
        names=lambda: [item.key.removeprefix(prefix) for item in found()],
    )


@contextlib.contextmanager
def objects(address: str, where: str) -> Iterator[SimpleNamespace]:
    """The objects below an address; what their library complains of is said in one sentence."""
    clouds = {"gs": (google_objects, "google-cloud-storage"), "s3": (amazon_objects, "boto3")}
    below, library = clouds[address.split("://")[0]]
    try:
        yield below(address)
    except ImportError:
        raise Refused(f"{where} needs {library}; install it with pip") from None
    except Exception as problem:  # noqa: BLE001 - of a library's own kind, so not known before
        reason = str(problem).removeprefix("Parameter validation failed:\n").split("\n")[0]
        raise Refused(f"{where} {reason}; check the address and your rights to it") from None


def on_mount(path: str, where: str, root: str = "/gcs") -> str:
    """Turn gs://bucket into /gcs/bucket where that is mounted, as in every job on Vertex AI."""
    scheme, separator, rest = path.rpartition("://")
    need(scheme in ("", "gs", "s3"), f"{where} {scheme}:// is unknown; give a file, gs:// or s3://")
    bucket = rest.split("/")[0]
    need(bucket or not separator, f"{where} names no bucket; write {scheme}://bucket/name")
    return f"{root}/{rest}" if scheme == "gs" and Path(root, bucket).is_dir() else path


class Shard(NamedTuple):
    """One archive of a table, as told by its directory and the headers of its arrays."""

    name: str  # below the folder: the same wherever the folder lies
    rows: int
    features: int
    content: str  # checksums that differ when the content does
    preparation: str


Share = tuple[str, int, range]  # a shard's name, its place in the whole table, own rows in it


class Header(NamedTuple):
    """Of an array in an archive what can be known without reading it."""

    info: zipfile.ZipInfo
    shape: tuple[int, ...]
    fortran: bool
    dtype: np.dtype[Any]
    length: int  # bytes before the first number


def find_shards(path: str, where: str) -> dict[str, str]:
    """The archives that a path means, in the order of their names: of each name its address."""
    path = on_mount(path, where)
    remote = "://" in path
    root, pattern = path.rstrip("/") + "/", "*.npz"
    if not (path.endswith("/") if remote else Path(path).is_dir()):
        if not glob.has_magic(path) or (not remote and Path(path).exists()):
            return {path.rpartition("/")[2]: path}
        fixed = re.split(r"[*?[]", path)[0]
        root = fixed[: fixed.rfind("/") + 1]
        pattern = path.removeprefix(root)
    if remote:
        with objects(root, where) as store:  # a star stands for no more than one part of a path
            names = [name for name in store.names() if name.count("/") == pattern.count("/")]
        names = [name for name in names if fnmatch.fnmatchcase(name, pattern)]
    else:
        names = glob.glob(pattern, root_dir=root or None)
    need(names, f"{where} there is no {pattern} in {root or '.'}; write some with numpy.savez")
    return {name: root + name for name in sorted(names)}


def fetch(address: str, where: str) -> bytes:
    """The content of an object."""
    with objects(address, where) as store:
        return bytes(store.read(""))


@contextlib.contextmanager
def open_archive(address: str, where: str, read: Callable[[str, str], bytes]) -> Iterator[Any]:
    """A file, or an object read into memory, and the beginning of what is said of its damage."""
    advice = "give an npz archive of plain arrays, as numpy.savez writes it"
    try:  # a damaged archive makes numpy and zipfile raise almost anything
        if not (remote := "://" in address) and Path(address).stat():  # others may never end
            need(os.path.isfile(address) or os.path.isdir(address), f"{where} is no file; {advice}")
        with io.BytesIO(read(address, where)) if remote else open(address, "rb") as file:
            need(zipfile.is_zipfile(file), f"{where} is no whole npz archive; {advice}")
            with zipfile.ZipFile(file) as archive:
                yield archive, where
    except Refused:
        raise
    except Exception as problem:  # noqa: BLE001 - see above
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        advice = "check the name" if isinstance(problem, FileNotFoundError) else advice
        raise Refused(f"{where} cannot be read ({reason.splitlines()[0]}); {advice}") from None


def read_headers(archive: zipfile.ZipFile, names: Sequence[str]) -> dict[str, Header]:
    """The headers of those arrays that are there; each array must be as long as it says."""
    headers = {}
    for info in archive.infolist():
        if (name := info.filename.removesuffix(".npy")) in names:
            with archive.open(info) as member:
                old = np.lib.format.read_magic(member) == (1, 0)
                read = getattr(np.lib.format, f"read_array_header_{1 if old else 2}_0")
                shape, fortran, dtype = read(member)
                header = Header(info, shape, fortran, dtype, member.tell())
            if dtype.hasobject:  # a pickle, which could run code
                raise ValueError("it holds text or mixed columns")
            if header.length + math.prod(shape) * dtype.itemsize != info.file_size:
                raise ValueError(f"{name} is longer or shorter than its header says")
            headers[name] = header
    return headers


def read_rows(archive: zipfile.ZipFile, header: Header, rows: range, raw: Any) -> Any:
    """Rows of an array as float32, or as they lie in `raw`, the whole file mapped into memory."""
    info = header.info
    if raw is None or info.compress_type != zipfile.ZIP_STORED:
        with archive.open(info) as member:  # to its end, where its checksum is compared
            array = np.lib.format.read_array(member, allow_pickle=False)
        return as_floats(array[rows.start : rows.stop])
    start = info.header_offset + 30  # there the name begins, then come some extras
    start += int(raw[start - 4 : start].view("<u2").sum(dtype=int)) + header.length
    flat = raw[start : start + info.file_size - header.length].view(header.dtype)
    array = flat.reshape(header.shape, order="F" if header.fortran else "C")
    return array[rows.start : rows.stop]


def describe(name: str, archive: zipfile.ZipFile, part: str, where: str) -> Shard:
    """What the other replicas must know of an archive, if X_<part> and y_<part> are usable."""
    names = (f"X_{part}", f"y_{part}", "preparation")
    headers = read_headers(archive, names)
    for array in names[:2]:
        need(array in headers, f"{where} there is no array {array}; name the arrays in numpy.savez")
        dtype = headers[array].dtype
        need(dtype.kind in "biuf", f"{where} {array} holds {dtype}; encode it as numbers")
    X, y = (headers[array] for array in names[:2])
    table = len(X.shape) == 2 and all(X.shape)
    need(table, f"{where} {names[0]} has shape {X.shape}; make it (rows, features), none 0")
    rows, features = X.shape
    advice = f"give each of {rows} rows one label"
    need(y.shape in ((rows,), (rows, 1)), f"{where} {names[1]} has shape {y.shape}; {advice}")
    preparation = headers.get("preparation")
    plain = not preparation or preparation.dtype.kind == "U"
    need(plain, f"{where} preparation is no text; write it as JSON")
    text = ""
    if preparation:
        with archive.open(preparation.info) as member:
            text = str(np.lib.format.read_array(member, allow_pickle=False))
    content = " ".join(f"{array.dtype.str} {array.info.CRC:08x}" for array in (X, y))
    return Shard(name, rows, features, f"{rows} {content}", text)


def share_out(lists: list[list[Shard]], where: str) -> tuple[list[Shard], list[list[Share]]]:
    """All shards, in order, and every replica's shares of them."""
    # Replicas with the same shards share their rows. A machine may have shards of its own, as
    # SageMaker's ShardedByS3Key gives them out: these are for the replicas on it.
    shards = sorted(itertools.chain(*{tuple(held) for held in lists}))
    for one, other in itertools.pairwise(shards):
        advice = "give every machine the same files, or each of them names of its own"
        need(one.name != other.name, f"{where} not all machines have the same {one.name}; {advice}")
        a, b = (f"{shard.name} has {shard.features} features" for shard in (one, other))
        need(one.features == other.features, f"{where} {a}, {b}; prepare all alike")
    prepared = {shard.preparation: shard.name for shard in shards if shard.preparation}
    names = " and ".join(prepared.values())
    need(len(prepared) < 2, f"{where} {names} carry different preparations; prepare all alike")
    ends = itertools.accumulate(shard.rows for shard in shards)
    starts = {shard.name: end - shard.rows for shard, end in zip(shards, ends, strict=True)}
    shares: list[list[Share]] = [[] for _ in lists]
    for rank, held in enumerate(lists):
        alike = [other for other, theirs in enumerate(lists) if theirs == held]
        own = own_rows(sum(shard.rows for shard in held), Place(alike.index(rank), len(alike)))
        first, last = own.start, own.stop  # counted from the first row of each shard in turn
        for name, rows, *_ in held:
            if inside := range(max(first, 0), min(last, rows)):
                shares[rank].append((name, starts[name], inside))
            first, last = first - rows, last - rows
    return shards, shares


def joined(shares: list[Share]) -> list[range]:
    """Rows of the whole table, those that follow one another as one range."""
    result: list[range] = []
    for _, start, rows in shares:
        first = start + rows.start
        if result and result[-1].stop == first:
            first = result.pop().start
        result.append(range(first, start + rows.stop))
    return result


def check(X: Any, y: Any, first: int, part: str, where: str) -> None:
    """Refuse numbers that cannot be trained on; `first` is the first row's number in its file."""
    count, place, step = 0, (0, 0), max(1, WINDOW // X.shape[1])
    for start in range(0, len(X), step):
        bad = np.argwhere(~np.isfinite(as_floats(X[start : start + step], copy=False)))
        if len(bad) and not count:
            place = (first + start + bad[0][0], bad[0][1])
        count += len(bad)
        labels = as_floats(y[start : start + step])
        plain = ((labels == 0) | (labels == 1)).all()
        need(plain, f"{where} y_{part} has labels other than 0 (no) and 1 (yes)")
    advice = f"first in row {place[0]}, column {place[1]} (from 0); fill in or drop the rows"
    need(not count, f"{where} X_{part} has {count} missing or infinite values, {advice}")


def read_table(path: str, part: str, place: Place, device: torch.device) -> tuple[Table, str]:
    """X_<part> and y_<part> of all archives, checked, and the preparation they carry, else ""."""
    # A table of up to one WINDOW is kept on the device. A larger one is mapped into memory, or kept
    # as float32 where it is compressed or no file; and all on a GPU if half of its memory will do.
    where, found, parts = f"--{part} {path}:", dict[str, str](), list[Part]()
    read = functools.lru_cache(1)(fetch)  # one archive is not brought twice

    def opened(name: str) -> Any:
        said = where if len(found) == 1 else f"--{part} {found[name]}:"
        return open_archive(found[name], said, read)

    def look() -> list[Shard]:
        found.update(find_shards(path, where))
        return [described(name) for name in found]

    def described(name: str) -> Shard:
        with opened(name) as (archive, said):
            return describe(name, archive, part, said)

    held = [[Shard(*shard) for shard in each] for each in exchange(look, place)]
    shards, shares = share_out(held, where)
    whole, features = sum(shard.rows for shard in shards), shards[0].features
    small, names = whole * features <= WINDOW, (f"X_{part}", f"y_{part}")

    def load() -> None:
        for name, start, rows in shares[place.rank]:
            with opened(name) as (archive, said):
                headers, mapped = read_headers(archive, names), archive.filename and not small
                raw = np.asarray(np.memmap(found[name], mode="r")) if mapped else None
                X, y = (read_rows(archive, headers[array], rows, raw) for array in names)
                check(X, y := y.reshape(-1, 1), rows.start, part, said)
            parts.append(Part(X, y, start + rows.start))

    exchange(load, place)
    digest = hashlib.sha256("\n".join(shard.content for shard in shards).encode()).hexdigest()
    table = Table(parts, whole, features, [joined(own) for own in shares], digest, device)
    own = sum(len(part.X) for part in parts)
    if device.type == "cuda" and not small:
        small = own * (features + 1) * 4 * 2 < torch.cuda.mem_get_info(device)[0]
    if small or not own:
        table = table._replace(parts=settle(table, table.shares[place.rank] or [range(0)]))
    return table, next((shard.preparation for shard in shards if shard.preparation), "")


def settle(table: Table, ranges: list[range]) -> list[Part]:
    """The own rows as tensors that stay on the device, one for each of the ranges they make."""
    sizes, done = [len(rows) for rows in ranges], 0
    X, y = (torch.empty((sum(sizes), n), device=table.device) for n in (table.features, 1))
    for some, labels in stretches(table):
        X[done : done + len(some)], y[done : done + len(some)] = some, labels
        done += len(some)
    starts, pieces = [rows.start for rows in ranges], (torch.split(x, sizes) for x in (X, y))
    return [Part(*part) for part in zip(*pieces, starts, strict=True)]


def as_floats(array: Any, copy: bool = True) -> Any:
    """As float32; what is too large for it becomes infinite."""
    with np.errstate(over="ignore"):
        return array.astype(np.float32, copy=copy)


def on_device(array: Any, device: torch.device) -> torch.Tensor:
    """A tensor there; one of numpy's arrays is copied as float32."""
    tensor = array if isinstance(array, torch.Tensor) else torch.from_numpy(as_floats(array))
    if device.type == "cuda" and tensor.device.type == "cpu":  # from pinned memory: twice as fast
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)


def stretches(table: Table) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """X and y of all own rows in order, at most one WINDOW at once."""
    step = max(1, WINDOW // table.features)
    for X, y, _ in table.parts:
        for start in range(0, max(1, len(X)), step):
            some, labels = (item[start : start + step] for item in (X, y))
            yield on_device(some, table.device), on_device(labels, table.device)


def shuffled(table: Table, batch: int, shuffle: torch.Generator) -> Iterator[torch.Tensor]:
    """The order of all rows in one epoch, the same for every replica, window by window."""
    # Of a table larger than a window the order is that of its pieces, which are rows that follow
    # one another on the disk; the rows of 16 pieces or so are then shuffled together.
    whole, window = table.whole, max(1, WINDOW // table.features)
    if whole <= window:
        yield torch.randperm(whole, generator=shuffle)
        return
    size = max(1, window // 16)
    pieces = torch.randperm(math.ceil(whole / size), generator=shuffle)
    sizes = (whole - pieces * size).clamp(max=size)
    ends = sizes.cumsum(0)
    window = max(batch, window // batch * batch)
    for first in range(0, whole, window):
        places = torch.arange(first, min(first + window, whole))
        piece = torch.bucketize(places, ends, right=True)
        rows = (pieces * size + sizes - ends)[piece] + places
        yield rows[torch.randperm(len(rows), generator=shuffle)]


def gather(table: Table, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """X and y of these rows of the whole table, which are all own ones, in their order."""
    X, y, start = table.parts[0]
    if len(table.parts) == 1 and isinstance(X, torch.Tensor):
        rows = (rows - start).to(X.device)
        return X.index_select(0, rows), y.index_select(0, rows)
    rows, places = rows.sort()  # files are read forwards
    home = X.device if isinstance(X, torch.Tensor) else "cpu"
    X, y = (torch.empty((len(rows), n), device=home) for n in (table.features, 1))
    for part in table.parts:
        ends = torch.tensor([part.start, part.start + len(part.X)])
        first, last = torch.searchsorted(rows, ends).tolist()
        if first < last:
            for whole, own in ((X, part.X), (y, part.y)):
                some = take(own, rows[first:last] - part.start)
                whole.index_copy_(0, places[first:last].to(home), some)
    return on_device(X, table.device), on_device(y, table.device)


def take(array: Any, rows: torch.Tensor) -> torch.Tensor:
    """These rows of a part."""
    if isinstance(array, torch.Tensor):
        return array.index_select(0, rows.to(array.device))
    if array.flags.c_contiguous:  # by bytes: numbers in an archive are not aligned
        some = array.view(np.uint8).take(rows, 0, mode="clip").view(array.dtype)
    else:
        some = array[rows.numpy()]
    return torch.from_numpy(as_floats(some, copy=False))


def make_batches(table: Table, batch: int, shuffle: torch.Generator,
                 skip: int = 0) -> Iterator[tuple[Iterable[Any], int]]:  # fmt: skip
    """One epoch's batches but the first `skip`: chunks (X, y) of the own rows, and all its rows."""
    if not 0 < batch < table.whole:
        yield from [(stretches(table), table.whole)][skip:]
        return
    window = max(1, WINDOW // table.features)
    ranges = joined([("", part.start, range(len(part.X))) for part in table.parts])
    for order in shuffled(table, batch, shuffle):
        rows, sizes = order, [len(some) for some in torch.split(order, batch)]
        if skip >= len(sizes):
            skip -= len(sizes)
            continue
        own_sizes = sizes
        if ranges != [range(table.whole)]:
            inside = [(rows >= some.start) & (rows < some.stop) for some in ranges]
            own = functools.reduce(torch.logical_or, inside).nonzero().flatten()
            own_sizes = torch.bincount(own // batch, minlength=len(sizes)).tolist()
            rows = rows[own]
        if batch > window:  # then `rows` are those of one batch, whose order means nothing
            chunks = torch.split(rows.sort().values, window)
            yield map(partial(gather, table), chunks), sizes[0]
            continue
        batches = (torch.split(item, own_sizes) for item in gather(table, rows))
        # What is passed over is gathered, too: a batch at another place in memory would be
        # multiplied in another order, and its last bits would differ.
        for X, y, size in itertools.islice(zip(*batches, sizes, strict=True), skip, None):
            yield [(X, y)], size
        skip = 0


def build_model(features: int, hidden: Sequence[int], seed: int, device: Any = "cpu",
                share: Callable[[int, Linear], object] | None = None) -> Sequential:  # fmt: skip
    """Linear layers with ReLU between them; the output is one logit per row: above 0 means yes."""
    # share(number, layer), if given, keeps this replica's part of each layer as soon as it is made.
    layers: list[torch.nn.Module] = []
    with torch.random.fork_rng(devices=[]):  # a notebook's random state is left as it was
        torch.manual_seed(seed)  # and layers are made on the CPU: every device starts alike
        for number, widths in enumerate(itertools.pairwise([features, *hidden, 1])):
            linear = Linear(*widths)
            if share:
                share(number, linear.to(device))
            elif str(device) == "cpu":  # transposed in memory: a narrow layer's gradient is faster
                linear.weight = torch.nn.Parameter(linear.weight.detach().t().contiguous().t())
            layers += [linear, ReLU(inplace=not share)]
    return Sequential(*layers[:-1]).to(device)


def sharing(hidden: Sequence[int], place: Place, device: torch.device) -> Any:
    """What keeps a replica's part of a layer: columns of one layer, then the rows of the next."""
    # So every second layer works on what this replica has computed itself, and the replicas add up
    # its outputs. A last layer without a partner, of one column, is left whole.
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import parallel

    size = place.world_size
    odd = [width for width in hidden[::2] if width % size]
    need(not odd, f"--parallelism model: {size} replicas cannot share {odd[:1]} columns evenly; "
         f"choose widths in --hidden that {size} divides")  # fmt: skip
    mesh = init_device_mesh(device.type, (size,))

    def share(number: int, layer: Linear) -> None:
        if number < len(hidden) or number % 2:  # all replicas have made the same: nothing is sent
            style = parallel.RowwiseParallel() if number % 2 else parallel.ColwiseParallel()
            parallel.parallelize_module(layer, mesh, style, src_data_rank=None)

    return share


def own_part(tensor: Any) -> torch.Tensor:
    """A parameter as this replica holds it: the whole, or its part of what several share."""
    part: torch.Tensor = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return part.detach()


def whole_weights(model: Sequential, keep: bool) -> dict[str, Any]:
    """All weights by name, for who is to keep them; all replicas that share them have to ask."""
    whole = {}
    for name, weight in model.state_dict().items():
        with connected():
            weight = weight.full_tensor() if hasattr(weight, "full_tensor") else weight
        whole[name] = weight.cpu().contiguous() if keep else None
    return whole


class Adam:
    """The optimiser, over this replica's parts of the parameters."""

    # The class torch.optim.Adam does the same, but first imports torch's compiler: one second.
    def __init__(self, model: Sequential, learning_rate: float) -> None:
        """learning_rate: how far a step moves the weights."""
        self.weights = [own_part(parameter) for parameter in model.parameters()]
        self.learning_rate = learning_rate
        self.means = [torch.zeros_like(weight) for weight in self.weights]
        self.squares = [torch.zeros_like(weight) for weight in self.weights]
        self.counts = [torch.zeros((), device=weight.device) for weight in self.weights]
        # All parameters in one pass over memory.
        self.fused = self.weights[0].device.type in ("cpu", "cuda")

    @torch.no_grad()
    def step(self, gradients: Sequence[Any]) -> None:
        """Move the weights by one step along these gradients."""
        adam(self.weights, list(gradients), self.means, self.squares, [], self.counts,
             fused=self.fused, lr=self.learning_rate, beta1=0.9, beta2=0.999, eps=1e-8,
             weight_decay=0.0, amsgrad=False, maximize=False)  # the class's defaults # fmt: skip

    @property
    def state(self) -> list[torch.Tensor]:
        """All that it remembers."""
        return [*self.means, *self.squares, *self.counts]

    def bytes(self) -> dict[str, int]:
        """The memory that this replica's parameters and the optimiser's state of them take."""
        groups = {"parameters": self.weights, "optimiser": self.state}
        return {name: sum(one.nbytes for one in group) for name, group in groups.items()}


class Progress:
    """How far the training is: with weights and optimiser, all that the next step depends on."""

    PLAIN = ("epoch", "best_loss", "best_epoch", "resumed", "told")

    def __init__(self, seed: int) -> None:
        """Before the first step."""
        self.shuffle = torch.Generator().manual_seed(seed)
        self.epoch = 1  # under way
        self.shuffled: torch.Tensor = self.shuffle.get_state()  # as this epoch began
        self.steps: list[tuple[Any, int]] = []  # of this epoch: loss and rows of each
        self.history: list[tuple[Any, ...]] = []
        self.best_loss, self.best_epoch = math.inf, 0
        self.best_weights: list[torch.Tensor] = []
        self.resumed: list[int] = []  # epochs in which a run went on from a checkpoint
        self.told = 0  # epochs that are in the events for TensorBoard

    def take(self, state: Mapping[str, Any], device: torch.device) -> None:
        """Be as far as a checkpoint is."""
        for name in self.PLAIN:  # of the same kind, lest a crafted one fail much later
            setattr(self, name, type(getattr(self, name))(state[name]))
        history = state["history"].view(self.epoch - 1, 5).tolist()
        self.history = [(int(epoch), *row) for epoch, *row in history]
        self.shuffle.set_state(state["shuffle"])
        self.steps = [(torch.tensor(loss, device=device), rows) for loss, rows in state["steps"]]
        self.best_weights = [weight.to(device) for weight in state["best_weights"]]
        self.resumed = [*map(int, self.resumed), self.epoch]

    def loss(self) -> float:
        """The mean loss of this epoch's steps."""
        losses, rows = zip(*self.steps, strict=True)
        return float(np.average(torch.stack(losses).tolist(), weights=rows))


@torch.no_grad()
def evaluate(model: Sequential, table: Table, place: Place) -> tuple[float, float]:
    """The mean loss on the whole table, and the share of its rows that the model gets right."""
    sums = torch.zeros(2, device=table.device)
    for X, y in stretches(table):
        logits = model(X)
        loss = binary_cross_entropy_with_logits(logits, y, reduction="sum")
        sums += torch.stack((loss, ((logits > 0) == (y > 0.5)).sum()))
    loss, right = sum_up(sums, place).tolist()  # waits for the device once
    return loss / table.whole, right / table.whole


def slope(model: Sequential, chunks: Iterable[Any], rows: int) -> tuple[list[Any], Any]:
    """Gradients and value of the mean loss over a batch: what these rows of it contribute."""
    parameters = list(model.parameters())
    sums: list[Any] = []
    for X, y in chunks:
        loss = binary_cross_entropy_with_logits(model(X), y, reduction="sum") / rows
        found = [own_part(one) for one in (*torch.autograd.grad(loss, parameters), loss)]
        sums = [one.add_(more) for one, more in zip(sums, found, strict=True)] if sums else found
    return sums[:-1], sums[-1]


def add_up(gradients: list[Any], loss: Any, leaves: bool, place: Place) -> tuple[Any, ...]:
    """Gradients and loss summed over the replicas, and how many of them leave."""
    values = [value if value.is_contiguous() else value.t() for value in gradients]  # as they lie
    flat = [value.reshape(-1) for value in (*values, loss, torch.full_like(loss, leaves))]
    total = sum_up(torch.cat(flat), place)  # one message, not eight
    *parts, loss, leaving = torch.split(total, [value.numel() for value in flat])
    summed = [
        part.as_strided(value.size(), value.stride(), part.storage_offset())
        for value, part in zip(gradients, parts, strict=True)
    ]
    return summed, loss.clone().view(()), leaving  # a view would keep all gradients in memory


def train_epoch(model: Sequential, optimiser: Adam, batches: Iterable[Any], progress: Progress,
                place: Place, leave: Callable[[], bool] | None = None) -> bool:  # fmt: skip
    """One step for each of the batches, until one of the replicas has to leave: then True."""
    for chunks, rows in batches:
        gradients, loss = slope(model, chunks, rows)
        leaves: Any = leave() if leave else False
        if place.world_size > 1:
            gradients, loss, leaves = add_up(gradients, loss, leaves, place)
        optimiser.step(gradients)
        progress.steps.append((loss, rows))
        if leave and leaves:  # on a GPU this waits for the step
            return True
    return False


def train(model: Sequential, optimiser: Adam, tables: "Tables", flags: Any, place: Place,
          progress: Progress, checkpoints: "Checkpoints", reports: "Reports",
          say: Any) -> None:  # fmt: skip
    """Train from where `progress` is until epochs or patience run out, and set the weights."""
    # place: among those who share out the rows.
    before = progress.history[-1][-1] if progress.history else 0.0
    begun = shown = time.perf_counter()
    while progress.epoch <= flags.epochs:
        epoch, done = progress.epoch, len(progress.steps)
        progress.shuffled = progress.shuffle.get_state()
        batches = make_batches(tables.train, flags.batch_size, progress.shuffle, done)
        if train_epoch(model, optimiser, batches, progress, place, checkpoints.leave):
            checkpoints.save(progress)
            raise Stopped(f"ended before its time, in epoch {epoch}")
        loss = progress.loss()
        val_loss, accuracy = evaluate(model, tables.val, place)
        now = time.perf_counter()
        seconds = before + now - begun
        progress.history.append((epoch, loss, val_loss, accuracy, seconds))
        need(math.isfinite(val_loss), f"no finite loss in epoch {epoch}; lower --learning_rate")
        if val_loss < progress.best_loss - flags.min_delta:
            progress.best_loss, progress.best_epoch = val_loss, epoch
            progress.best_weights = [weight.clone() for weight in optimiser.weights]
        progress.epoch, progress.steps = epoch + 1, []
        stop = epoch - progress.best_epoch >= flags.patience > 0
        # About ten lines over the run, and on a long one at least one every two seconds.
        if stop or epoch in (1, flags.epochs) or epoch * 10 % flags.epochs < 10 or now - shown > 2:
            shown = now
            say(f"epoch {epoch:5d}  loss {loss:.4f}  validation loss {val_loss:.4f}  "
                f"accuracy {accuracy:.4f}  {seconds:.1f} s")  # fmt: skip
        if stop:
            say(f"stopped: no better validation loss for {flags.patience} epochs")
            break
        if flags.checkpoint_every and epoch % flags.checkpoint_every == 0:
            checkpoints.save(progress)
        if epoch < flags.epochs:
            reports.epoch()
    if flags.restore_best:
        for weight, best in zip(optimiser.weights, progress.best_weights, strict=True):
            weight.copy_(best)
        progress.best_weights.clear()


Content = bytes | memoryview
Results = dict[str, Content | None]  # the content of each file; None: there shall be no such file


def files(folder: Path) -> SimpleNamespace:
    """What is done with the files of a folder, which are written whole or not at all."""

    def attempt(name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{name}.part"
        part.touch()
        part.unlink()

    def grow(name: str, content: bytes, written: int) -> None:
        with (folder / name).open("ab") as file:
            file.write(content[written:])

    def write(contents: Mapping[str, Content]) -> None:
        parts = {name: folder / f"{name}.part" for name in contents}
        try:
            for name, content in contents.items():  # all of them, before the first takes its place
                with parts[name].open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            for name, part in parts.items():
                part.replace(folder / name)
        finally:
            for part in parts.values():
                part.unlink(missing_ok=True)

    return SimpleNamespace(
        attempt=attempt,
        write=write,
        grow=grow,
        read=lambda name: (folder / name).read_bytes(),
        delete=lambda name: (folder / name).unlink(missing_ok=True),
        names=lambda: [path.name for path in folder.iterdir() if path.is_file()],
    )


@contextlib.contextmanager
def folder_at(path: str, where: str) -> Iterator[SimpleNamespace]:
    """A folder, or the objects below an address; what goes wrong is said in one sentence."""
    if "://" in (path := on_mount(path, where)):
        with objects(f"{path.rstrip('/')}/", where) as below:
            yield below
        return
    try:
        yield files(Path(path))
    except OSError as problem:
        raise Refused(f"{where} {problem.strerror}; name another folder") from None


def write_results(path: str, results: Results) -> None:
    """Write the results, and remove what there shall not be."""
    with folder_at(path, f"--model_dir {path}:") as folder:
        for name in (name for name, content in results.items() if content is None):
            folder.delete(name)
        folder.write({name: content for name, content in results.items() if content is not None})


def saved(content: Mapping[str, Any]) -> memoryview:
    """What torch.load() reads with weights_only."""
    torch.save(content, file := io.BytesIO())
    return file.getbuffer()


def as_csv(history: Sequence[Sequence[float]]) -> bytes:
    """One line for each epoch, below the names of the columns."""
    columns = ("epoch", "loss", "val_loss", "val_accuracy", "seconds")
    return "".join(",".join(map(str, row)) + "\n" for row in (columns, *history)).encode()


MEASUREMENTS = 48  # of each of two metrics: cloudml-hypertune's file keeps the latest 100
POINTS = 1000  # of a curve: TensorBoard shows no more


class Events:
    """A file of events for TensorBoard: the curves, the hyperparameters and the layers."""

    SHOWN = ("epochs", "learning_rate", "batch_size", "hidden", "patience", "min_delta",
             "restore_best", "seed", "parallelism")  # fmt: skip

    def __init__(self, flags: Any, model: Sequential, progress: Progress) -> None:
        """START undoes what an earlier run told of later epochs than those told of by now."""
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.graph_pb2 import GraphDef
        from tensorboard.plugins.hparams.plugin_data_pb2 import HParamsPluginData
        from tensorboard.summary.writer.record_writer import RecordWriter

        self.event, self.plugin_data, self.path = Event, HParamsPluginData, flags.tensorboard_dir
        self.records, self.content = RecordWriter, io.BytesIO()
        self.progress, self.stride = progress, math.ceil(flags.epochs / POINTS)
        self.name = f"events.out.tfevents.{time.time():.6f}.{socket.gethostname()}.{os.getpid()}"
        shown = {name: getattr(flags, name) for name in self.SHOWN}
        shown["hidden"] = ",".join(map(str, flags.hidden))
        kinds = {bool: "bool_value", str: "string_value"}
        hparams = {n: {kinds.get(type(v), "number_value"): v} for n, v in shown.items()}
        nodes: list[dict[str, Any]] = [{"name": "X", "op": "Placeholder"}]
        for place, layer in model.named_children():
            kind, text = type(layer).__name__, {"layer": {"s": str(layer).encode()}}
            before = [nodes[-1]["name"]]
            nodes.append({"name": f"{place}.{kind}", "op": kind, "input": before, "attr": text})
        self.new = [
            Event(file_version="brain.Event:2"),
            Event(step=progress.told + 1, session_log={"status": "START"}),
            Event(graph_def=GraphDef(node=nodes).SerializeToString()),
            self._session(session_start_info={"hparams": hparams, "start_time_secs": time.time()}),
        ]  # fmt: skip

    def _session(self, **info: Any) -> Any:
        """An event for the page HPARAMS."""
        content = self.plugin_data(**info).SerializeToString()
        metadata = {"plugin_data": {"plugin_name": "hparams", "content": content}}
        values = [{"tag": f"_hparams_/{name}", "metadata": metadata} for name in info]
        return self.event(summary={"value": values})

    def write(self, ended: bool = False) -> None:
        """Add the epochs that are new."""
        now, tags = time.time(), ("loss", "val_loss", "val_accuracy")
        history = self.progress.history
        for epoch, *row, seconds in history[self.progress.told :]:
            if epoch % self.stride == 0 or epoch == 1 or (ended and epoch == len(history)):
                values = [{"tag": t, "simple_value": v} for t, v in zip(tags, row, strict=True)]
                when = now - history[-1][-1] + seconds
                self.new.append(self.event(step=epoch, wall_time=when, summary={"value": values}))
        if ended:
            self.new.append(self._session(session_end_info={"status": 1, "end_time_secs": now}))
        written, self.progress.told = self.content.tell(), len(history)
        for event in self.new:
            event.wall_time = event.wall_time or now
            self.records(self.content).write(event.SerializeToString())
        self.new = []
        with folder_at(self.path, f"--tensorboard_dir {self.path}:") as folder:
            folder.grow(self.name, self.content.getvalue(), written)


class Reports:
    """Tells those who follow a run: Vertex AI's tuner, TensorBoard, and who reads history.csv."""

    def __init__(self, flags: Any, model: Sequential, progress: Progress, say: Any) -> None:
        """progress: further than nothing if the run goes on from a checkpoint."""

        def made(make: Callable[[], Any], package: str) -> Any:
            try:
                return make()
            except Exception as problem:  # noqa: BLE001 - protobuf has errors of its own
                say(f"{package} is not told of this run ({problem}); install it with pip")

        self.flags, self.history = flags, progress.history
        self.tuner, self.events, self.due = None, None, math.inf
        if flags.place.rank:
            return
        self.due = time.perf_counter() + 1
        if flags.tensorboard_dir:
            self.events = made(lambda: Events(flags, model, progress), "tensorboard")
        names = ("CLOUD_ML_TRIAL_ID", "CLOUD_ML_HP_METRIC_FILE")
        task = re.search(r'"trial": *"?\d', os.environ.get("CLUSTER_SPEC", ""))
        if task or any(map(os.environ.get, names)):
            load = partial(importlib.import_module, "hypertune")
            self.tuner = made(lambda: load().HyperTune(), "cloudml-hypertune")
        for row in self.history:  # the tuner's file begins anew
            self._measure(row[0], *row[2:4])

    def _measure(self, epoch: int, loss: float, accuracy: float, last: bool = False) -> None:
        """Tell the tuner of an epoch, if it is the last or one of those spread over the run."""
        before, now = (e * (MEASUREMENTS - 1) // self.flags.epochs for e in (epoch - 1, epoch))
        if self.tuner and (last or before < now):
            try:
                tell = self.tuner.report_hyperparameter_tuning_metric
                tell("validation_loss", loss, epoch)
                tell("validation_accuracy", accuracy, epoch)
            except OSError as problem:
                complain(f"the tuner is told no more, {problem}")
                self.tuner = None

    def epoch(self) -> None:
        """Tell of an epoch, which is not the last."""
        self._measure(self.history[-1][0], *self.history[-1][2:4])
        if (now := time.perf_counter()) < self.due:
            return
        with contextlib.suppress(Refused, OSError):  # of a failure the last write tells
            so_far: Results = {"metrics.json": None, "history.csv": as_csv(self.history)}
            write_results(self.flags.model_dir, so_far)
            if self.events:
                self.events.write()
        self.due = now + max(1, 20 * (time.perf_counter() - now))  # takes 1/20 of the time at most

    def end(self, loss: float, accuracy: float) -> None:
        """Tell of the model that is written."""
        self._measure(len(self.history), loss, accuracy, last=True)
        try:
            if self.events:
                self.events.write(ended=True)
        except (Refused, OSError) as problem:
            complain(f"the events for TensorBoard are not whole, {problem}")


class Sigterm:
    """The request to end: obeyed at once, but during the training after the step under way."""

    def __init__(self) -> None:
        """Nobody has asked yet."""
        self.asked = self.waits = False

    def __call__(self, *_: object) -> None:
        """Hear the signal."""
        again, self.asked = self.asked, True  # a supervisor and its service may both send it
        if not again and not self.waits:
            raise Stopped("ended before its time")

    @contextlib.contextmanager
    def waiting(self) -> Iterator[None]:
        """Let it wait until somebody looks at `asked`."""
        self.waits = True
        yield
        self.waits = False
        if self.asked:
            raise Stopped("ended before its time")


class Checkpoints:
    """A replica's checkpoints, in a folder of its own, from which a run goes on."""

    # The number of the step, and the digest by which damage is noticed; the newest two stay. Where
    # the replicas share out rows, the first one's are all.
    NAME = re.compile(r"step-(\d{9})-([0-9a-f]{16})\.pt(\.part)?")

    def __init__(self, flags: Any, about: Mapping[str, Any], optimiser: Adam, said: list[str]):
        """about: what a checkpoint must agree with to be gone on from; said: the log so far."""
        self.flags, self.about, self.optimiser, self.said = flags, about, optimiser, said
        self.place, self.split = flags.place, flags.parallelism == "model"
        self.path = f"{flags.checkpoint_dir.rstrip('/')}/worker-{self.place.rank}"
        self.where, self.sigterm = f"--checkpoint_dir {self.path}:", flags.sigterm or Sigterm()
        self.leave = self._leave if flags.checkpoint_every else None
        self.writing = threading.Thread()

    def _leave(self) -> bool:
        """Whether this replica has been asked to end; where layers are shared, whether one has."""
        if not self.split:
            return self.sigterm.asked  # the others hear of it with the gradients
        return bool(sum_up(torch.tensor(float(self.sigterm.asked)), self.place))

    def holds(self) -> bool:
        """Whether this replica has checkpoints of its own."""
        return bool(self.flags.checkpoint_every) and (self.split or self.place.rank == 0)

    def save(self, progress: Progress) -> None:
        """Begin to write a checkpoint, which does not hold up the training."""
        if not self.holds():
            return
        optimiser, steps = self.optimiser, [(float(loss), rows) for loss, rows in progress.steps]
        content = saved({
            "about": self.about, "weights": optimiser.weights, "adam": optimiser.state,
            "best_weights": progress.best_weights, "steps": steps, "said": self.said,
            "shuffle": progress.shuffled if steps else progress.shuffle.get_state(),
            "history": torch.tensor(progress.history, dtype=torch.float64),
            **{name: getattr(progress, name) for name in progress.PLAIN},
        })  # fmt: skip
        self.close()
        self.writing = threading.Thread(
            target=self._write, args=(int(optimiser.counts[0]), content)
        )
        self.writing.start()

    def close(self) -> None:
        """Wait until the last one is written, which a run after this one would find half done."""
        if self.writing.ident:
            self.writing.join()

    def _write(self, number: int, content: Content) -> None:
        """Write a checkpoint; if it cannot be written, say so: the training goes on without."""
        name = f"step-{number:09d}-{hashlib.sha256(content).hexdigest()[:16]}.pt"
        try:
            with folder_at(self.path, self.where) as folder:
                folder.write({name: content})
                for old, _ in self._names(folder)[:-2]:
                    folder.delete(old)
        except Refused as problem:
            complain(f"no checkpoint, {problem}")

    def resume(self, progress: Progress) -> None:
        """Take up the newest checkpoint that is whole, of all replicas that have some."""
        if not self.flags.checkpoint_every:
            return
        lists = exchange(lambda: self._whole() if self.holds() else None, self.place)
        held = [{number for number, _ in found} for found in lists if found is not None]
        number, own = max(set.intersection(*held), default=0), dict(lists[self.place.rank] or ())
        content = self._read(own, number) if own else None
        if not number:
            if any(held):
                print("train_nn.py: no checkpoint that all replicas have; begins anew", flush=True)
            return
        if self.place.world_size > 1 and not self.split:  # the first one's are all
            size = exchange(lambda: len(content or b""), self.place)[0]
            sent = on_wire(content or bytes(size))
            with connected():
                dist.broadcast(sent, 0)
            content = sent.cpu().numpy().tobytes()
        exchange(lambda: self._take(content or b"", progress), self.place)
        if self.flags.line:
            self.flags.line.send(str(number).encode())

    def _take(self, content: bytes, progress: Progress) -> None:
        """Be where the checkpoint is; refuses one that this script did not write."""
        weights, adam, epochs = self.optimiser.weights, self.optimiser.state, self.flags.epochs
        with self._readable(content) as state:
            need(state["epoch"] <= epochs + 1, f"{self.where} the checkpoint is beyond --epochs "
                 f"{epochs}; name more, or another --checkpoint_dir")  # fmt: skip
            own = [*weights, *adam, *(weights if state["best_epoch"] else ())]
            found = [*state["weights"], *state["adam"], *state["best_weights"]]
            if [each.shape for each in own] != [each.shape for each in found]:
                raise ValueError
            for tensor, value in zip(weights + adam, found, strict=False):
                tensor.copy_(value)
            progress.take(state, weights[0].device)
            self.said[:] = map(str, state["said"])

    @contextlib.contextmanager
    def _readable(self, content: bytes) -> Iterator[Any]:
        """What is in a checkpoint; what does not fit into this script is said in one sentence."""
        try:
            yield torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        except (ArithmeticError, AttributeError, EOFError, LookupError, RuntimeError, TypeError,
                ValueError, pickle.UnpicklingError):  # fmt: skip
            raise Refused(f"{self.where} holds a checkpoint that this script did not write; name "
                          "another --checkpoint_dir, or delete it") from None  # fmt: skip

    def _whole(self) -> list[tuple[int, str]]:
        """The number and the name of each whole checkpoint; refuses those of another training."""
        found = []
        with folder_at(self.path, self.where) as folder:
            folder.attempt("step")
            for name, match in self._names(folder):
                content = folder.read(name)
                if match[3] or hashlib.sha256(content).hexdigest()[:16] != match[2]:
                    print(f"train_nn.py: {self.where} {name} is damaged and of no use", flush=True)
                    folder.delete(name)
                    continue
                with self._readable(content) as state:
                    about = {what: state["about"].get(what) for what in self.about}
                for what, here in self.about.items():
                    need(about[what] == here, f"{self.where} holds a checkpoint of another "
                         f"training, whose {what} is {about[what]} and not {here}; name another "
                         "--checkpoint_dir, or delete it")  # fmt: skip
                found.append((int(match[1]), name))
        return found

    def _names(self, folder: Any) -> list[tuple[str, Any]]:
        """The checkpoints in the folder, in the order of their numbers."""
        return [(n, found) for n in sorted(folder.names()) if (found := self.NAME.fullmatch(n))]

    def _read(self, own: Mapping[int, str], number: int) -> bytes | None:
        """The content of this checkpoint; later ones, which others lack, are of no use."""
        with folder_at(self.path, self.where) as folder:
            for later in (name for each, name in own.items() if each > number):
                folder.delete(later)
            return folder.read(own[number]) if number else None

    def clear(self) -> None:
        """Remove the checkpoints of a training that has ended, if that is possible."""
        if self.holds():
            with contextlib.suppress(Refused), folder_at(self.path, self.where) as folder:
                for name, _ in self._names(folder):
                    folder.delete(name)
            with contextlib.suppress(OSError):
                Path(self.path).rmdir()
                if self.flags.checkpoint_dir == default_checkpoints(self.flags):  # named by nobody
                    Path(self.path).parent.rmdir()


class Tables(NamedTuple):
    """What is trained on, what is judged by, and the preparation of both, else ""."""

    train: Table
    val: Table
    preparation: str


def read_tables(flags: Any, crew: Place, device: torch.device) -> Tables:
    """Both tables; crew: the place among those who share out the rows."""
    train, preparation = read_table(flags.train, "train", crew, device)
    val, other = read_table(flags.val, "val", crew, device)
    need(not preparation or other in ("", preparation), f"--val {flags.val}: its preparation is "
         "not that of --train; prepare both alike, by what was fitted on --train")  # fmt: skip
    features, others = train.features, val.features
    need(others == features, f"--train has {features} features, --val {others}; prepare both alike")
    digests = exchange(lambda: f"{train.digest} {val.digest}", flags.place)
    need(len(set(digests)) == 1, "--parallelism model: the replicas have different rows, and each "
         "needs all of them; give every replica the same archives")  # fmt: skip
    return Tables(train, val, preparation)


def run(flags: argparse.Namespace, say: Callable[..., None], said: list[str]) -> None:
    """Read the data, train the model, write the results; `said` holds the lines of the log."""
    begun, place = time.perf_counter(), flags.place
    device = choose_device(flags.device, place.local_rank)
    if place.world_size > 1:
        join(place, flags, device)
    split = flags.parallelism == "model" and place.world_size > 1
    crew = Place() if split else place  # those who share out the rows
    tables = read_tables(flags, crew, device)
    exchange(lambda: check_folders(flags) if place.rank == 0 else None, place)
    rows, features = tables.train.whole, tables.train.features
    share = sharing(flags.hidden, place, device) if split else None
    model = build_model(features, flags.hidden, flags.seed, device, share)
    optimiser, progress = Adam(model, flags.learning_rate), Progress(flags.seed)
    weights, batch = sum(p.numel() for p in model.parameters()), min(flags.batch_size or rows, rows)
    threads = choose_threads(math.ceil(batch / place.world_size), weights)
    torch.set_num_threads(threads)
    keep_memory()
    shares = tables.train.shares * (place.world_size if split else 1)
    if place.world_size > 1:
        own = ", ".join(f"{rows.start} to {rows.stop - 1}" for rows in shares[place.rank])
        which = f"rows {own}" if own else "no rows"
        say(f"replica {place.rank} of {place.world_size}, {which}")
    steps = "1 step" if batch == rows else f"{math.ceil(rows / batch)} steps"
    say(f"{rows} rows, {features} features, {weights} weights, {steps} an epoch, on {device}")
    if flags.unknown:
        say(f"ignored, not flags of this script: {' '.join(flags.unknown)}")
    held = exchange(optimiser.bytes, place)
    identity = {
        "features": features, "hidden": flags.hidden, "seed": flags.seed, "batch_size": batch,
        "learning_rate": flags.learning_rate, "min_delta": flags.min_delta,
        "training table": tables.train.digest, "validation table": tables.val.digest,
        "number of replicas that share layers": place.world_size if split else 1,
    }  # fmt: skip
    checkpoints = Checkpoints(flags, identity, optimiser, said)
    checkpoints.resume(progress)
    if progress.resumed:
        say(f"goes on from a checkpoint, in epoch {progress.resumed[-1]}")
    reports = Reports(flags, model, progress, say)
    ready = time.perf_counter()
    with connected() if split else contextlib.nullcontext():  # layers meet in every step
        with checkpoints.sigterm.waiting(), contextlib.closing(checkpoints):
            train(model, optimiser, tables, flags, crew, progress, checkpoints, reports, say)
        optimiser.means, optimiser.squares = [], []  # their memory is of use now
        loss, accuracy = evaluate(model, tables.val, crew)
    state, history = whole_weights(model, place.rank == 0), progress.history
    seconds = {"start_up": begun - STARTED, "data": ready - begun, "training": history[-1][-1]}
    rows_of = [[{"start": each.start, "stop": each.stop} for each in share or [range(0)]]
               for share in shares]  # fmt: skip
    inner = ("place", "door", "line", "replicas", "sigterm")
    metrics = {
        "accuracy": accuracy, "loss": loss, "seconds": seconds, "world_size": place.world_size,
        "epochs": {"last": len(history), "best": progress.best_epoch, "resumed": progress.resumed},
        "replicas": [{"rank": rank, "rows": own[0] if len(own) == 1 else own, "bytes": held[rank]}
                     for rank, own in enumerate(rows_of)],
        "device": str(device), "threads": threads,
        "configuration": {name: value for name, value in vars(flags).items() if name not in inner},
        "versions": {"python": sys.version.split()[0], "torch": str(torch.__version__)},
    }  # fmt: skip
    about = {"features": features, "hidden": flags.hidden, "preparation": tables.preparation}
    ending = [f"wrote model.pt, metrics.json, history.csv and training.log to {flags.model_dir}",
              f"validation:accuracy = {accuracy:.4f}", f"validation:loss = {loss:.4f}"]  # fmt: skip
    results: Results = {
        "model.pt": saved({"model": state, **about}), "history.csv": as_csv(history),
        # An earlier run's is another model's.
        "preparation.json": tables.preparation.encode() or None,
        "training.log": "\n".join([*said, *ending, ""]).encode(),
        "metrics.json": json.dumps(metrics, indent=2).encode(),
    }  # fmt: skip
    reports.end(loss, accuracy)
    exchange(lambda: write_results(flags.model_dir, results) if place.rank == 0 else None, place)
    checkpoints.clear()
    say(*ending)


def check_folders(flags: Any) -> None:
    """Refuse a folder that cannot be written to before the training, not after it."""
    for flag in ("model_dir", "tensorboard_dir"):
        if path := getattr(flags, flag):
            with folder_at(path, f"--{flag} {path}:") as folder:
                folder.attempt("metrics.json")  # of an object: an upload that is begun and left


def main(flags: argparse.Namespace) -> int:
    """Run, and turn what a user can mend into one sentence; returns the exit code."""
    said: list[str] = []

    def say(*lines: str) -> None:
        if flags.place.rank == 0 or not said:  # the other replicas say where they are, no more
            said.extend(lines)
            sys.stdout.write("".join(f"{line}\n" for line in lines))
            sys.stdout.flush()

    again = "; started again, it goes on from its checkpoint"
    threads, flags.sigterm = torch.get_num_threads(), None
    if flags.checkpoint_every:
        flags.sigterm = Sigterm()
        before = signal.signal(signal.SIGTERM, flags.sigterm)
    try:
        run(flags, say, said)
        if flags.sigterm:
            flags.sigterm.waits = True  # too late to be obeyed
    except Stopped as problem:
        complain(f"{problem}{again}")
        return RESTART
    except Lost as problem:
        after = again if flags.checkpoint_every else "; no model was written"
        complain(f"{problem}{after}")
        return RESTART if flags.checkpoint_every else 1
    except (Refused, OSError) as problem:  # an OSError names its file
        if flags.place.local_rank == 0 or not isinstance(problem, RefusedElsewhere):
            complain(str(problem))  # once on each machine
        return 2
    except (MemoryError, RuntimeError) as problem:
        if not out_of_memory(problem):
            raise
        complain("this network needs more memory than there is; choose smaller --hidden, or start "
                 "several replicas with --parallelism model")  # fmt: skip
        return 2
    except KeyboardInterrupt:
        after = again if flags.checkpoint_every else ", no model was written"
        complain(f"interrupted{after}")
        return 130  # what a shell reports after Ctrl-C
    finally:
        if flags.place.world_size > 1 and dist.is_initialized():
            dist.destroy_process_group()
        torch.set_num_threads(threads)  # a notebook that runs this file keeps its own number
        if flags.sigterm:
            signal.signal(signal.SIGTERM, before)
    return 0


if FLAGS:
    CODE = main(FLAGS)
    if FLAGS.parallelism == "model" and FLAGS.place.world_size > 1:
        sys.stdout.flush()
        os._exit(CODE)  # threads of torch's shared layers are there yet, and would abort it
    sys.exit(CODE)
