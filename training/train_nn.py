"""Train a small neural network that answers yes or no about each row of a table.

Run it in a terminal or, with %run, in a notebook, or send it to a training service. It is one file
and imports nothing of the project it comes from: copy it for your own table.
    python train_nn.py --train train_data.npz --val val_data.npz --epochs 200 --batch_size 64
Reads   --train: an npz archive with X_train (rows, features) and y_train (rows,), labels 0 or 1
        --val: an npz archive with X_val and y_val of the same kind
Writes  model.pt, metrics.json, history.csv and training.log side by side into --model_dir, and
        preparation.json where the training archive carries the preparation it was made with;
        metrics.json comes last: where it lies, the results are whole
        Each of the three may be a gs:// or s3:// address.
Exits   with 0 when the model is written; with 2 and one sentence when an input cannot be used; with
        1 and one sentence when another replica is lost
Started as N replicas, by Vertex AI, SageMaker or torchrun, it trains one model: each replica works
on rows of its own, the gradients are averaged at every step, replica 0 prints and writes for all.
"""

import argparse
import contextlib
import gc
import importlib.util
import io
import json
import math
import os
import platform
import socket
import sys
import tempfile
import time
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

STARTED = time.perf_counter()


class Refused(Exception):
    """An input cannot be used; the message says what, where and what to do."""


def need(fulfilled: object, otherwise: str) -> None:
    """Refuse the input with this message unless the condition is fulfilled."""
    if not fulfilled:
        raise Refused(otherwise)


class Lost(Refused):
    """Another replica never came or is gone."""


# ---- place --------------------------------------------------------------------------------------
class Place(NamedTuple):
    """This process among the replicas that train one model together; by default it is alone."""

    rank: int = 0
    world_size: int = 1
    master: tuple[str, int] | None = None  # where rank 0 is met; None: torch's own variables say it


def find_place(environment: Mapping[str, str]) -> Place:
    """Work out the place from the variables that torchrun or a training service sets."""
    spec, size, hosts = (environment.get(n, "") for n in ("CLUSTER_SPEC", "WORLD_SIZE", "SM_HOSTS"))
    on_vertex = spec and "TORCHELASTIC_RUN_ID" not in environment
    try:
        if on_vertex:  # where WORLD_SIZE counts machines; everywhere else it counts processes
            return place_on_vertex(**json.loads(spec))
        if size:
            places = range(int(size))
            return Place(places.index(int(environment["RANK"])), len(places))
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


def open_door(place: Place) -> socket.socket | None:
    """Rank 0's socket, open before torch is imported: who is refused tries again a second later."""
    if place.rank or not place.master:
        return None
    host, port = place.master  # replicas of one machine need not be reached from another
    return socket.create_server((host if host in ("127.0.0.1", "localhost") else "", port))


# ---- flags --------------------------------------------------------------------------------------
def numeric(low: int, cast: type, text: str) -> Any:
    """A number from `low` up; for int a whole one, also when a tuner writes it as 64.0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if low <= value <= 2**53 and cast(value) == value:  # up to there a float is exact
        return cast(value)
    kind = {int: "whole number", float: "number"}[cast]
    raise argparse.ArgumentTypeError(f"needs a {kind} from {low} up, not {text!r}")


class Parser(argparse.ArgumentParser):
    """argparse, but a mistake costs one sentence instead of a page of usage."""

    def error(self, message: str) -> Any:
        """Say the mistake and leave with exit code 2."""
        self.exit(2, f"train_nn.py: {message}; --help lists the flags\n")


# fmt: off
def parse_flags(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the flags; those that a service adds and this script does not know end in `unknown`."""
    parser = Parser("train_nn.py", description=(__doc__ or "").split("\n")[0], allow_abbrev=False,
                    formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    flag, whole, real = parser.add_argument, partial(numeric, 0, int), partial(numeric, 0, float)
    from_1 = partial(numeric, 1, int)
    for part in ("train", "val"):  # on SageMaker a channel of that name with one archive will do
        found = [*Path(os.environ.get(f"SM_CHANNEL_{part.upper()}") or os.devnull).glob("*.npz")]
        flag(f"--{part}", required=len(found) != 1, default=str(found[0]) if found else None,
             help=f"npz archive with X_{part} and y_{part}; a file, gs:// or s3://")
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
    flag("--model_dir", help="folder, gs:// or s3:// for results; or AIP_MODEL_DIR, SM_MODEL_DIR",
         default=os.environ.get("AIP_MODEL_DIR") or os.environ.get("SM_MODEL_DIR") or ".")
    flags, unknown = parser.parse_known_args(arguments)
    for name in ("--parallelism", "--checkpoint_every", "--checkpoint_dir"):
        if name in (item.split("=")[0] for item in unknown):
            parser.error(f"{name} is not implemented yet")
    if unknown and not unknown[0].startswith("-"):
        parser.error(f"{unknown[0]!r} belongs to no flag")
    try:
        flags.place = find_place(os.environ)
        flags.door = open_door(flags.place)
    except (Refused, OSError) as problem:
        parser.exit(2, f"train_nn.py: {problem}\n")
    return argparse.Namespace(**vars(flags), unknown=unknown)
# fmt: on


# torch takes about a second to import: --help and a mistaken flag should not have to wait for it.
FLAGS = parse_flags() if __name__ == "__main__" else None
if FLAGS and FLAGS.place.world_size > 1:  # of a lost connection torch would print its C++ stack
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "FATAL")

import numpy as np
import torch
import torch.distributed as dist
from torch.nn import Linear, ReLU, Sequential
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim.adam import adam

# Importing torch makes objects by the hundred thousand that live to the end: collecting them would
# cost a fifth of the time to start and leave (benchmarks/). A notebook's objects are not ours.
if __name__ == "__main__" and "IPython" not in sys.modules:
    gc.freeze()


class Table(NamedTuple):
    """Rows of a table; of several replicas each holds only its own."""

    X: torch.Tensor  # (rows, features)
    y: torch.Tensor  # (rows, 1)
    start: int  # the place of the first row in the whole table
    whole: int  # rows of the whole table


# ---- device -------------------------------------------------------------------------------------
def choose_device(wanted: str) -> torch.device:
    """The device to train on; `auto` takes the first of CUDA, TPU and Apple GPU that is there."""
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    here = {"cuda": cuda, "xla": importlib.util.find_spec("torch_xla"), "mps": mps, "cpu": True}
    usable = [name for name, there in here.items() if there]
    name = usable[0] if wanted == "auto" else wanted.lower()
    need(name in usable, f"--device {wanted}: here torch can use {' or '.join(usable)}; name one")
    return importlib.import_module("torch_xla").device() if name == "xla" else torch.device(name)


def choose_threads(rows_per_step: int, weights: int) -> int:
    """One CPU thread for each 25 million operations of a step: less gains nothing (benchmarks/)."""
    operations = 6 * rows_per_step * weights  # multiply and add: once forward, twice backward
    return max(1, min(torch.get_num_threads(), operations // 25_000_000))


# ---- replicas -----------------------------------------------------------------------------------
JOINING = timedelta(minutes=5)  # a service's machines start at different times


def join(place: Place, door: socket.socket | None) -> None:
    """Wait for the other replicas, and make one group of torch.distributed of all."""
    if interface := os.environ.get("SM_NETWORK_INTERFACE_NAME"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)  # else that of the host's own name
    try:
        if place.master:
            fd = door.detach() if door else None
            store = dist.TCPStore(  # type: ignore[attr-defined]
                *place.master, place.world_size, place.rank == 0, JOINING, master_listen_fd=fd
            )
        else:
            store = next(dist.rendezvous("env://", timeout=JOINING))[0]  # type: ignore[attr-defined]
        dist.init_process_group("gloo", store=store, rank=place.rank, world_size=place.world_size)
    except (RuntimeError, ValueError) as problem:
        reason = str(problem).split("\n")[0]
        raise Lost(f"{place.world_size} replicas did not come together: {reason}") from None


def sum_up(own: torch.Tensor, place: Place) -> torch.Tensor:
    """The sum over all replicas, to the last bit the same for each of them."""
    if place.world_size == 1:
        return own
    total = own.cpu()  # where gloo adds
    try:
        dist.all_reduce(total)
    except RuntimeError:
        raise Lost("another replica ended or cannot be reached; no model was written") from None
    return total.to(own.device)


def own_rows(rows: int, place: Place) -> range:
    """A replica's own rows of a table: together all of them, none of them twice."""
    return range(*(rows * rank // place.world_size for rank in (place.rank, place.rank + 1)))


# ---- data ---------------------------------------------------------------------------------------
def google_objects(address: str) -> SimpleNamespace:
    """What google-cloud-storage does with the objects whose names begin with a gs:// address."""
    from google.cloud.storage import Blob, Client

    blob = partial(lambda client, name: Blob.from_uri(address + name, client), Client())
    return SimpleNamespace(
        read=lambda name: blob(name).download_as_bytes(),
        write=lambda name, content: blob(name).upload_from_string(content),
        delete=lambda name: blob(name).exists() and blob(name).delete(),
        attempt=lambda name: blob(name).create_resumable_upload_session(),
    )


def amazon_objects(address: str) -> SimpleNamespace:
    """What boto3 does, with the credentials and endpoint that it finds, below an s3:// address."""
    import boto3

    bucket, _, prefix = address.removeprefix("s3://").partition("/")
    item = partial(lambda s3, name: s3.Object(bucket, prefix + name), boto3.resource("s3"))
    return SimpleNamespace(
        read=lambda name: item(name).get()["Body"].read(),
        write=lambda name, content: item(name).put(Body=content),
        delete=lambda name: item(name).delete(),
        attempt=lambda name: item(name).initiate_multipart_upload().abort(),
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


def open_archive(path: str, where: str) -> Any:
    """A file, or an object read into memory."""
    if "://" not in (path := on_mount(path, where)):
        return open(path, "rb")
    with objects(path, where) as store:
        return io.BytesIO(store.read(""))


def read_table(path: str, part: str, place: Place, device: Any = None) -> tuple[Table, str]:
    """X_<part> and y_<part> of an archive, checked, and the preparation it may carry, else ""."""
    where, X_name, y_name = f"--{part} {path}:", f"X_{part}", f"y_{part}"
    advice = "give an npz archive of plain arrays, as numpy.savez writes it"
    names = (X_name, y_name, "preparation")
    try:  # a damaged archive makes numpy and zipfile raise almost anything
        with open_archive(path, where) as file:
            need(zipfile.is_zipfile(file), f"{where} is no whole npz archive; {advice}")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:  # a pickle could run code
                arrays = {name: np.asarray(archive[name]) for name in names if name in archive}
    except (ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, SyntaxError,
            TypeError, ValueError, tokenize.TokenError, zipfile.BadZipFile,
            zlib.error) as problem:  # fmt: skip
        reason = getattr(problem, "strerror", None) or str(problem) or type(problem).__name__
        reason = "it holds text or mixed columns" if "pickle" in reason else reason
        raise Refused(f"{where} cannot be read ({reason.splitlines()[0]}); {advice}") from None
    for name in (X_name, y_name):
        need(name in arrays, f"{where} there is no array {name}; name the arrays in numpy.savez")
        dtype = arrays[name].dtype
        need(dtype.kind in "biuf", f"{where} {name} holds {dtype}; encode it as numbers")
    X, y = arrays[X_name], arrays[y_name]
    need(X.ndim == 2 and X.size, f"{where} {X_name} has shape {X.shape}; make it (rows, features)")
    one_each = y.shape in ((len(X),), (len(X), 1))
    need(one_each, f"{where} {y_name} has shape {y.shape}; give each of {len(X)} rows one label")
    with np.errstate(over="ignore"):  # what is too large for float32 becomes inf: refused below
        X, y = X.astype(np.float32), y.astype(np.float32).reshape(-1, 1)
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        first = f"first in row {bad[0][0]}, column {bad[0][1]} (from 0); fill in or drop the rows"
        raise Refused(f"{where} {X_name} has {len(bad)} missing or infinite values, {first}")
    need(np.isin(y, (0, 1)).all(), f"{where} {y_name} has labels other than 0 (no) and 1 (yes)")
    preparation = arrays.get("preparation", np.array(""))
    need(preparation.dtype.kind == "U", f"{where} preparation is no text; write it as JSON")
    own = own_rows(len(X), place)  # every replica checks the whole table and keeps its own rows
    X_own, y_own = (torch.tensor(item[own.start : own.stop], device=device) for item in (X, y))
    return Table(X_own, y_own, own.start, len(X)), str(preparation)


def make_batches(data: Table, batch: int, shuffle: torch.Generator) -> Iterable[Any]:
    """One epoch's batches: X and y of the own rows in it, and how many rows it has in all."""
    X, y, start, whole = data
    if not 0 < batch < whole:
        return [(X, y, whole)]
    sizes = own_sizes = [batch] * (whole // batch) + [whole % batch] * (whole % batch > 0)
    order = torch.randperm(whole, generator=shuffle)  # the same for every replica
    if len(X) < whole:
        places = ((order >= start) & (order < start + len(X))).nonzero().flatten()
        own_sizes = torch.bincount(places // batch, minlength=len(sizes)).tolist()
        order = order[places] - start
    order = order.to(X.device)  # batches are slices of a table that is shuffled anew
    shuffled = (torch.split(part.index_select(0, order), own_sizes) for part in (X, y))
    return zip(*shuffled, sizes, strict=True)


# ---- model --------------------------------------------------------------------------------------
def build_model(features: int, hidden: Sequence[int], seed: int, device: str = "cpu") -> Sequential:
    """Linear layers with ReLU between them; the output is one logit per row: above 0 means yes."""
    layers: list[torch.nn.Module] = []
    with torch.random.fork_rng(devices=[]):  # a notebook's random state is left as it was
        torch.manual_seed(seed)
        for inputs, outputs in zip([features, *hidden], [*hidden, 1], strict=True):
            linear = Linear(inputs, outputs)
            if str(device) == "cpu":  # transposed in memory: a narrow layer's gradient is faster
                linear.weight = torch.nn.Parameter(linear.weight.detach().t().contiguous().t())
            layers += [linear, ReLU(inplace=True)]
    return Sequential(*layers[:-1]).to(device)  # made on the CPU: every device starts alike


def adam_step(parameters: list[Any], learning_rate: float) -> Callable[[Sequence[Any]], None]:
    """Return a function that takes the gradients and moves the parameters by one step of Adam."""
    # The class torch.optim.Adam does the same, but first imports torch's compiler: one second.
    means, squares = ([torch.zeros_like(p) for p in parameters] for _ in range(2))
    counts = [torch.zeros((), device=p.device) for p in parameters]
    fused = parameters[0].device.type in ("cpu", "cuda")  # all parameters in one pass over memory

    @torch.no_grad()
    def step(gradients: Sequence[Any]) -> None:
        adam(parameters, list(gradients), means, squares, [], counts, fused=fused,
             lr=learning_rate, beta1=0.9, beta2=0.999, eps=1e-8,  # the class's own defaults
             weight_decay=0.0, amsgrad=False, maximize=False)  # fmt: skip

    return step


# ---- training -----------------------------------------------------------------------------------
@torch.no_grad()
def evaluate(model: Sequential, table: Table, place: Place) -> tuple[float, float]:
    """The mean loss on the whole table, and the share of its rows that the model gets right."""
    logits = model(table.X)
    loss = binary_cross_entropy_with_logits(logits, table.y, reduction="sum")
    right = ((logits > 0) == (table.y > 0.5)).sum()
    sums = sum_up(torch.stack((loss, right)), place).tolist()  # waits for the device once
    return sums[0] / table.whole, sums[1] / table.whole


def average(gradients: Sequence[Any], loss: Any, rows: int, place: Place) -> Any:
    """Turn gradients of summed losses into those of the mean over all replicas' rows; return it."""
    flat = torch.cat([value.reshape(-1) for value in (*gradients, loss)])  # one message, not seven
    flat = sum_up(flat, place).div_(rows)
    parts = torch.split(flat[:-1], [gradient.numel() for gradient in gradients])
    for gradient, part in zip(gradients, parts, strict=True):
        gradient.copy_(part.view_as(gradient))
    return flat[-1]


def train_epoch(model: Sequential, batches: Iterable[Any], step: Any, place: Place) -> float:
    """One step for each of the batches; returns the mean loss on the way."""
    parameters, alone = list(model.parameters()), place.world_size == 1
    losses, sizes = [], []
    for X, y, rows in batches:
        loss = binary_cross_entropy_with_logits(model(X), y, reduction="mean" if alone else "sum")
        gradients = torch.autograd.grad(loss, parameters)
        loss = loss.detach() if alone else average(gradients, loss.detach(), rows, place)
        step(gradients)
        losses.append(loss)
        sizes.append(rows)
    return float(np.average(torch.stack(losses).tolist(), weights=sizes))


def train(model: Sequential, data: Table, val: Table, flags: Any, say: Any,
          write: Callable[[Any], None]) -> tuple[Any, int]:  # fmt: skip
    """Train until epochs or patience run out; returns history and best epoch, and sets weights."""
    shuffle = torch.Generator().manual_seed(flags.seed)
    step = adam_step(list(model.parameters()), flags.learning_rate)
    history, best_loss, best_epoch = [], math.inf, 0
    begun = said = time.perf_counter()
    due = begun + 1
    for epoch in range(1, flags.epochs + 1):
        batches = make_batches(data, flags.batch_size, shuffle)
        loss = train_epoch(model, batches, step, flags.place)
        val_loss, accuracy = evaluate(model, val, flags.place)
        now = time.perf_counter()
        history.append((epoch, loss, val_loss, accuracy, now - begun))
        need(math.isfinite(val_loss), f"no finite loss in epoch {epoch}; lower --learning_rate")
        if val_loss < best_loss - flags.min_delta:
            best_loss, best_epoch = val_loss, epoch
            best_weights = {name: value.clone() for name, value in model.state_dict().items()}
        if now > due:  # for who follows the run from elsewhere; of a failure the last write tells
            with contextlib.suppress(Refused, OSError):
                write({"metrics.json": None, "history.csv": as_csv(history)})
            due = now + max(1, 20 * (time.perf_counter() - now))  # takes 1/20 of the time at most
        stop = epoch - best_epoch == flags.patience > 0
        # About ten lines over the run, and on a long one at least one every two seconds.
        if stop or epoch in (1, flags.epochs) or epoch * 10 % flags.epochs < 10 or now - said > 2:
            said = now
            say(f"epoch {epoch:5d}  loss {loss:.4f}  validation loss {val_loss:.4f}  "
                f"accuracy {accuracy:.4f}  {now - begun:.1f} s")  # fmt: skip
        if stop:
            say(f"stopped: no better validation loss for {flags.patience} epochs")
            break
    if flags.restore_best:
        model.load_state_dict(best_weights)
    return history, best_epoch


# ---- results ------------------------------------------------------------------------------------
Results = dict[str, bytes | None]  # the content of each file; None: there shall be no such file


def open_results(path: str) -> Callable[[Results], None]:
    """What writes into the folder, which is made and seen to be writable before the training."""
    folder = on_mount(path, where := f"--model_dir {path}:")
    if "://" in folder:
        address = folder.rstrip("/") + "/"
        with objects(address, where) as store:  # an upload that is begun and left leaves nothing
            store.attempt("metrics.json")
        return partial(write_objects, address, where)
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        raise Refused(f"{where} {problem.strerror}; name another folder") from None
    return partial(write_files, Path(folder))


def write_files(folder: Path, results: Results) -> None:
    """Write every result elsewhere first, then move them: nobody meets half a result."""
    with tempfile.TemporaryDirectory(dir=folder) as elsewhere:
        for name, content in results.items():
            if content is not None:
                Path(elsewhere, name).write_bytes(content)
        for name, content in results.items():
            if content is not None:
                Path(elsewhere, name).replace(folder / name)
            else:
                (folder / name).unlink(missing_ok=True)


def write_objects(address: str, where: str, results: Results) -> None:
    """Write every result as an object of its own."""
    with objects(address, where) as store:
        for name, content in results.items():
            store.delete(name) if content is None else store.write(name, content)


def as_csv(history: Sequence[Sequence[float]]) -> bytes:
    """One line for each epoch, below the names of the columns."""
    columns = ("epoch", "loss", "val_loss", "val_accuracy", "seconds")
    return "".join(",".join(map(str, row)) + "\n" for row in (columns, *history)).encode()


def run(flags: argparse.Namespace, say: Callable[..., None], said: list[str]) -> None:
    """Read the data, train the model, write the results; `said` holds the lines of the log."""
    begun, place = time.perf_counter(), flags.place
    device = choose_device(flags.device)
    data, preparation = read_table(flags.train, "train", place, device)
    val, _ = read_table(flags.val, "val", place, device)
    rows, (features, others) = data.whole, (table.X.shape[1] for table in (data, val))
    need(others == features, f"--train has {features} features, --val {others}; prepare both alike")
    write = open_results(flags.model_dir) if place.rank == 0 else lambda _: None
    model = build_model(features, flags.hidden, flags.seed, str(device))
    weights, batch = sum(p.numel() for p in model.parameters()), min(flags.batch_size or rows, rows)
    threads = choose_threads(math.ceil(batch / place.world_size), weights)
    torch.set_num_threads(threads)
    # glibc hands freed blocks back at once, until it has freed one of nearly 32 MiB, its limit: by
    # this one, large batches find the memory of the step before, and are twice as fast.
    torch.empty(8 * 2**20 - 4096)
    shares = [own_rows(rows, Place(rank, place.world_size)) for rank in range(place.world_size)]
    if place.world_size > 1:
        first, last = data.start, data.start + len(data.X) - 1
        which = f"rows {first} to {last}" if len(data.X) else "no rows"
        say(f"replica {place.rank} of {place.world_size}, {which}")
        join(place, flags.door)
    steps = math.ceil(rows / batch)
    say(f"{rows} rows, {features} features, {weights} weights, {steps} steps an epoch, on {device}")
    if flags.unknown:
        say(f"ignored, not flags of this script: {' '.join(flags.unknown)}")
    ready = time.perf_counter()
    history, best = train(model, data, val, flags, say, write)
    loss, accuracy = evaluate(model, val, place)
    if place.rank > 0:
        return
    settings = {key: value for key, value in vars(flags).items() if key not in ("place", "door")}
    seconds = {"start_up": begun - STARTED, "data": ready - begun, "training": history[-1][-1]}
    metrics = {
        "accuracy": accuracy, "loss": loss, "seconds": seconds, "world_size": place.world_size,
        "epochs": {"last": len(history), "best": best},
        "replicas": [{"rank": rank, "rows": {"start": own.start, "stop": own.stop}}
                     for rank, own in enumerate(shares)],
        "device": str(device), "threads": threads, "configuration": settings,
        "versions": {"python": platform.python_version(), "torch": str(torch.__version__)},
    }  # fmt: skip
    state = {name: value.cpu().contiguous() for name, value in model.state_dict().items()}
    about = {"features": features, "hidden": flags.hidden, "preparation": preparation}
    torch.save({"model": state, **about}, model_file := io.BytesIO())
    ending = [f"wrote model.pt, metrics.json, history.csv and training.log to {flags.model_dir}",
              f"validation:accuracy = {accuracy:.4f}", f"validation:loss = {loss:.4f}"]  # fmt: skip
    write({
        "model.pt": model_file.getvalue(), "history.csv": as_csv(history),
        "preparation.json": preparation.encode() or None,  # an earlier run's is another model's
        "training.log": "\n".join([*said, *ending, ""]).encode(),
        "metrics.json": json.dumps(metrics, indent=2).encode(),
    })  # fmt: skip
    say(*ending)


def main(flags: argparse.Namespace) -> int:
    """Run, and turn what a user can mend into one sentence; returns the exit code."""
    said: list[str] = []

    def say(*lines: str) -> None:
        if flags.place.rank == 0 or not said:  # the other replicas say where they are, no more
            said.extend(lines)
            print(*lines, sep="\n", flush=True)

    threads = torch.get_num_threads()
    try:
        run(flags, say, said)
    except (Refused, OSError) as problem:  # an OSError names its file
        print(f"train_nn.py: {problem}", file=sys.stderr)
        return 1 if isinstance(problem, Lost) else 2
    except KeyboardInterrupt:
        print("train_nn.py: interrupted, no model was written", file=sys.stderr)
        return 130  # what a shell reports after Ctrl-C
    finally:
        if flags.place.world_size > 1 and dist.is_initialized():
            dist.destroy_process_group()
        torch.set_num_threads(threads)  # a notebook that runs this file keeps its own number
    return 0


if FLAGS:
    sys.exit(main(FLAGS))
