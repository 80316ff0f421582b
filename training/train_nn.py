"""Train a small neural network that answers yes or no about each row of a table.

    python train_nn.py --train train_data.npz --val val_data.npz --epochs 200 --batch_size 64

The same file runs in a terminal, with %run in a notebook, under torchrun, on Vertex AI and on
SageMaker. Several replicas train one model: each computes the gradients of its own rows, all of
them add their gradients up in every step, and the first one prints and writes.

Reads   --train: an npz archive with X_train (rows, features) and y_train (rows,), labels 0 or 1
        --val: the same with X_val and y_val
Writes  model.pt, history.csv, training.log and, if the training archive holds it, preparation.json
        to --model_dir; metrics.json comes last: once it is new, the results are complete
Exits   with 0 when the model is written; with 2 and one sentence if an input cannot be used; with 1
        if another replica is lost, or with 134 if there are checkpoints; with 130 after Ctrl-C

Every path may be a file, a gs:// URI or an s3:// URI.
"""

import argparse
import contextlib
import csv
import hashlib
import importlib.util
import io
import json
import math
import os
import signal
import sys
import tempfile
import threading
import time
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    import hypertune


class Refused(Exception):
    """An input cannot be used; the message says what, where and what to do."""


def require(condition: bool, message: str) -> None:
    """Refuse the input with this message unless the condition holds."""
    if not condition:
        raise Refused(message)


# ---- 1. The network and its loss: change these for your own work ---------------------------------
LABELS = (0, 1)  # what y may hold; () for any number


def build_model(features: int, hidden: Sequence[int], seed: int) -> nn.Module:
    """Return linear layers with ReLU between them; the output is a logit: above 0 means yes."""
    torch.manual_seed(seed)  # every replica starts with the same weights
    layers: list[nn.Module] = []
    inputs = features
    for width in hidden:
        layers.append(nn.Linear(inputs, width))
        layers.append(nn.ReLU())
        inputs = width
    layers.append(nn.Linear(inputs, 1))
    return nn.Sequential(*layers)


def loss_of_each_row(outputs: Tensor, y: Tensor) -> Tensor:
    """Return one loss for each row; the script takes the mean over all rows of a step."""
    return functional.binary_cross_entropy_with_logits(outputs, y, reduction="none")


def is_right(outputs: Tensor, y: Tensor) -> Tensor:
    """Return for each row whether the model is right; the accuracy is the share of these rows."""
    return (outputs > 0) == (y > 0.5)


def build_optimizer(weights: Sequence[nn.Parameter], learning_rate: float) -> torch.optim.Optimizer:
    """Return Adam, which moves each weight against its gradient, so that the loss falls."""
    if importlib.util.find_spec("flat_adam"):  # beside this file: the same steps in less time
        import flat_adam

        return cast(torch.optim.Optimizer, flat_adam.Adam(weights, lr=learning_rate))
    fused = weights[0].device.type in ("cpu", "cuda")  # torch moves all weights in one call
    return torch.optim.Adam(weights, lr=learning_rate, fused=fused)


def learning_rate_at(epoch: int, epochs: int, learning_rate: float) -> float:
    """Return the learning rate of an epoch, counted from 1 to epochs: here always the same."""
    return learning_rate


# ---- 2. Files, and objects in buckets ------------------------------------------------------------
def local_path(path: str) -> str:
    """Return a gs:// URI as a file's path if its bucket is mounted, as in Vertex AI's jobs."""
    bucket, _, name = path.removeprefix("gs://").partition("/")
    if path.startswith("gs://") and Path("/gcs", bucket).is_dir():
        return str(Path("/gcs", bucket, name))
    return path


def split_uri(uri: str) -> tuple[str, str, str]:
    """Return the scheme (gs or s3), the bucket and the object's name of a URI."""
    scheme, _, rest = uri.partition("://")
    bucket, _, name = rest.partition("/")
    require(scheme in ("gs", "s3"), f"{scheme}:// is unknown; give a file, gs:// or s3://")
    require(bucket != "", f"this names no bucket; write {scheme}://bucket/name")
    return scheme, bucket, name


def read_bytes(path: str) -> bytes:
    """Return the content of a file or an object; FileNotFoundError if it is not there."""
    path = local_path(path)
    if "://" not in path:
        file = Path(path)
        if file.exists() and not file.is_file():  # a named pipe, for example, may never end
            raise OSError("it is not a file")
        return file.read_bytes()
    scheme, bucket, name = split_uri(path)
    if scheme == "gs":
        from google.api_core.exceptions import NotFound
        from google.cloud import storage

        try:
            return bytes(storage.Client().bucket(bucket).blob(name).download_as_bytes())
        except NotFound as problem:
            raise FileNotFoundError(str(problem)) from None
    import boto3

    s3 = boto3.client("s3")
    try:
        return bytes(s3.get_object(Bucket=bucket, Key=name)["Body"].read())
    except (s3.exceptions.NoSuchKey, s3.exceptions.NoSuchBucket) as problem:
        raise FileNotFoundError(str(problem)) from None


def write_files(folder: str, files: Mapping[str, bytes]) -> None:
    """Write files or objects; on a disk under other names first, so that all appear or none."""
    folder = local_path(folder.rstrip("/"))
    if "://" not in folder:
        write_to_disk(Path(folder), files)
        return
    for name, content in files.items():
        scheme, bucket, key = split_uri(f"{folder}/{name}")
        if scheme == "gs":
            from google.cloud import storage

            storage.Client().bucket(bucket).blob(key).upload_from_string(content)
        else:
            import boto3

            boto3.client("s3").put_object(Bucket=bucket, Key=key, Body=content)


def write_to_disk(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files under other names, and rename them when the disk has them."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = {name: folder / f"{name}.part" for name in files}
    try:
        for name, content in files.items():
            with parts[name].open("wb") as file:
                file.write(content)
                os.fsync(file.fileno())
        for name, part in parts.items():
            part.replace(folder / name)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


def delete(path: str) -> None:
    """Delete a file or an object, if it is there."""
    path = local_path(path)
    if "://" not in path:
        Path(path).unlink(missing_ok=True)
        return
    scheme, bucket, name = split_uri(path)
    if scheme == "gs":
        from google.cloud import storage

        blob = storage.Client().bucket(bucket).blob(name)
        if blob.exists():
            blob.delete()
    else:
        import boto3

        boto3.client("s3").delete_object(Bucket=bucket, Key=name)


def within(folder: str, name: str) -> str:
    """Return the path or URI of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}"


HOW_TO_GET = {
    "google": "pip install google-cloud-storage",
    "boto3": "pip install boto3",
    "big_tables": "send the folder training/, not one file alone",
    "shared_layers": "send the folder training/, not one file alone",
}


@contextlib.contextmanager
def refuse_with(where: str, advice: str) -> Iterator[None]:
    """Refuse with one sentence whatever cannot be read, written or imported in the block."""
    try:
        yield
    except Refused as problem:
        raise Refused(f"{where}: {problem}") from None
    except ImportError as problem:
        package = str(problem.name).partition(".")[0]
        if package not in HOW_TO_GET:
            raise
        raise Refused(f"{where}: {problem}; {HOW_TO_GET[package]}") from None
    except Exception as problem:  # storage clients and damaged archives raise anything
        if is_loss_of_a_replica(problem):
            raise
        raise Refused(f"{where}: {reason_of(problem)}; {advice}") from None


def reason_of(problem: Exception) -> str:
    """Return the first line of an error's message, without Python's own words around it."""
    if isinstance(problem, KeyError):
        return f"{problem} is missing"
    if isinstance(problem, OSError) and problem.strerror:
        return problem.strerror
    lines = str(problem).splitlines()
    return lines[0] if lines else type(problem).__name__


# ---- 3. The table --------------------------------------------------------------------------------
class Step(NamedTuple):
    """What a replica trains on in one step."""

    chunks: Iterable[tuple[Tensor, Tensor]]  # X and y of its own rows; large tables have several
    rows: int  # of all replicas together


class Table(NamedTuple):
    """One replica's rows of the training or validation table, and facts about the whole table."""

    X: Tensor  # (own rows, features), float32
    y: Tensor  # (own rows, 1), float32
    own: range  # which rows of the whole table these are
    rows: int  # of the whole table
    replicas: int  # that share the rows out
    preparation: str  # how the features were made, as JSON; "" if the archive does not say
    digest: str  # of the whole content

    def steps(self, batch_size: int, shuffle: torch.Generator) -> Iterator[Step]:
        """Yield the steps of an epoch, in which each row takes part once."""
        if batch_size >= self.rows:
            yield Step([(self.X, self.y)], self.rows)
            return
        order = torch.randperm(self.rows, generator=shuffle)  # the same on all replicas
        is_own = (order >= self.own.start) & (order < self.own.stop)
        own = (order[is_own] - self.own.start).to(self.X.device)
        own_in_step = [int(batch.sum()) for batch in is_own.split(batch_size)]
        X, y = self.X[own].split(own_in_step), self.y[own].split(own_in_step)
        for X_step, y_step, batch in zip(X, y, order.split(batch_size), strict=True):
            yield Step([(X_step, y_step)], len(batch))

    def chunks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield X and y of all own rows: here in one chunk, as they are all in memory."""
        yield self.X, self.y

    def rows_of(self, rank: int) -> list[range]:
        """Return which rows of the whole table a replica has."""
        return [own_rows(self.rows, rank, self.replicas)]


def own_rows(rows: int, rank: int, replicas: int) -> range:
    """Return a replica's rows: those of all replicas are disjoint, and together the whole table."""
    return range(rows * rank // replicas, rows * (rank + 1) // replicas)


def read_archive(content: bytes, part: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Return X (rows, features), y (rows, 1) and the preparation, or refuse the archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        require(file.testzip() is None, "it is damaged; write it again with numpy.savez")
    archive = np.load(io.BytesIO(content), allow_pickle=False)  # a pickle could run code
    for name in (f"X_{part}", f"y_{part}"):
        require(name in archive, f"there is no array {name}; name the arrays in numpy.savez")
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite
        X = archive[f"X_{part}"].astype(np.float32, casting="same_kind")
        y = archive[f"y_{part}"].astype(np.float32, casting="same_kind")
    preparation = archive["preparation"] if "preparation" in archive else np.array("")
    require(preparation.dtype.kind == "U", "preparation is not text; write it as JSON")
    require(
        X.ndim == 2 and X.size > 0,
        f"X_{part} has shape {X.shape}; make it (rows, features), none 0",
    )
    require(
        y.shape in ((len(X),), (len(X), 1)),
        f"y_{part} has shape {y.shape}; give each of {len(X)} rows one label",
    )
    require_numbers(X, y, part)
    return X, y.reshape(-1, 1), str(preparation)


def require_numbers(X: np.ndarray, y: np.ndarray, part: str) -> None:
    """Refuse labels that the loss does not know, and missing or infinite values."""
    if LABELS:
        known = ", ".join(str(label) for label in LABELS)
        require(bool(np.isin(y, LABELS).all()), f"y_{part} has labels other than {known}")
    require(bool(np.isfinite(y).all()), f"y_{part} has missing or infinite values; drop the rows")
    bad = np.argwhere(~np.isfinite(X))
    if len(bad) > 0:
        row, column = bad[0]
        raise Refused(
            f"X_{part} has {len(bad)} missing or infinite values, first in row {row}, "
            f"column {column} (from 0); fill in or drop the rows"
        )


def read_table(path: str, part: str, *, rank: int, replicas: int, device: torch.device) -> Table:
    """Return a replica's own rows of a table, or refuse it."""
    advice = (
        "check the name and your permissions, and give an npz archive of numbers, with "
        f"X_{part} and y_{part}, as numpy.savez writes it"
    )
    with refuse_with(f"--{part} {path}", advice):
        if [True] in gather([is_several(path)]):  # for one of the replicas at least
            return read_parts(path, part, rank=rank, replicas=replicas, device=device)
        content = read_bytes(path)
        X, y, preparation = read_archive(content, part)
        # As numbers, since the replicas exchange nothing else.
        name, digest = zlib.crc32(Path(path).name.encode()), zlib.crc32(content)
        if is_different([name, digest, len(content)]):  # each machine has another part of it
            return read_parts(path, part, rank=rank, replicas=replicas, device=device)
    own = own_rows(len(X), rank, replicas)
    return Table(
        X=torch.from_numpy(X[own.start : own.stop]).to(device),
        y=torch.from_numpy(y[own.start : own.stop]).to(device),
        own=own,
        rows=len(X),
        replicas=replicas,
        preparation=preparation,
        digest=f"{len(content)} {digest:08x}",
    )


def is_several(path: str) -> bool:
    """Return whether a path means several archives, or one that is better read in pieces."""
    file = Path(local_path(path))
    if path.endswith("/") or file.is_dir():
        return True
    if file.is_file():
        is_large = file.stat().st_size > 64 * 2**20
        return is_large and importlib.util.find_spec("big_tables") is not None
    return any(letter in path for letter in "*?[")


def read_parts(path: str, part: str, *, rank: int, replicas: int, device: torch.device) -> Table:
    """Return a replica's own rows of a table in several archives, or of a large one."""
    import big_tables

    table = big_tables.read_table(
        path, part, rank=rank, replicas=replicas, device=device, labels=LABELS
    )
    return cast(Table, table)  # it has all that this script uses of a Table


# ---- 4. Replicas ---------------------------------------------------------------------------------
class Replica(NamedTuple):
    """Which replica this is, of how many, and where all of them meet."""

    rank: int = 0
    size: int = 1
    url: str = ""


def find_replicas(env: Mapping[str, str]) -> Replica:
    """Return which replica this is, from the variables of torchrun, Vertex AI or SageMaker."""
    advice = "unset it to train alone"
    if "TORCHELASTIC_RUN_ID" in env:  # torchrun first: it may have started several in one job
        with refuse_with("WORLD_SIZE and RANK cannot be used", advice):
            return find_under_torchrun(env)
    if env.get("CLUSTER_SPEC"):
        with refuse_with("CLUSTER_SPEC cannot be used", advice):
            return find_on_vertex_ai(env)
    if env.get("WORLD_SIZE"):  # another launcher that sets torchrun's variables
        with refuse_with("WORLD_SIZE and RANK cannot be used", advice):
            return find_under_torchrun(env)
    if env.get("SM_HOSTS"):
        with refuse_with("SM_HOSTS cannot be used", advice):
            return find_on_sagemaker(env)
    return Replica()


def find_under_torchrun(env: Mapping[str, str]) -> Replica:
    """Return which replica this is; torch itself reads where they meet."""
    rank, size = int(env["RANK"]), int(env["WORLD_SIZE"])
    if not 0 <= rank < size:
        raise ValueError(f"rank {rank} is not one of {size}")
    return Replica(rank, size, "env://")


def find_on_vertex_ai(env: Mapping[str, str]) -> Replica:
    """Return which replica this is: the chief's pool comes first, then the workers'."""
    spec = json.loads(env["CLUSTER_SPEC"])
    pools, task = spec["cluster"], spec["task"]
    own_pools = ("workerpool0", "workerpool1")
    replicas = []
    for pool in own_pools:
        for index in range(len(pools.get(pool, []))):
            replicas.append((pool, index))
    own = (task["type"], task["index"])
    require(
        own[0] in own_pools or own[0] not in pools,
        f"this replica is in {own[0]}; the script trains in {' and '.join(own_pools)} only",
    )
    host, _, port = pools["workerpool0"][0].rpartition(":")
    return Replica(replicas.index(own), len(replicas), meeting_url(host, port))


def find_on_sagemaker(env: Mapping[str, str]) -> Replica:
    """Return which replica this is: the hosts are in the order of their names."""
    hosts = sorted(json.loads(env["SM_HOSTS"]))
    if len(hosts) == 1:
        return Replica()
    # Version 3 of SageMaker's SDK sets SM_MASTER_ADDR, the containers of version 2 MASTER_ADDR.
    host = env.get("SM_MASTER_ADDR") or env.get("MASTER_ADDR") or hosts[0]
    port = env.get("SM_MASTER_PORT") or env.get("MASTER_PORT") or "7777"
    return Replica(hosts.index(env["SM_CURRENT_HOST"]), len(hosts), meeting_url(host, port))


def meeting_url(host: str, port: str) -> str:
    """Return where the replicas meet, in the form that torch expects."""
    if not 0 <= int(port) < 2**16:
        raise ValueError(f"there is no port {port}")
    return f"tcp://{host}:{int(port)}"


def join(replica: Replica, device: torch.device) -> None:
    """Wait for the other replicas, and form one group with them."""
    if replica.size == 1:
        return
    network = os.environ.get("SM_NETWORK_INTERFACE_NAME")
    if network:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", network)  # else gloo takes the host name's
    print(f"replica {replica.rank} of {replica.size} waits for the others", flush=True)
    try:
        dist.init_process_group(
            backend="nccl" if device.type == "cuda" else "gloo",
            init_method=replica.url,
            rank=replica.rank,
            world_size=replica.size,
        )
    except RuntimeError as problem:
        require("EADDRINUSE" not in str(problem), f"{replica.url}: the port is already in use")
        print(f"replica {replica.rank} does not meet the others: {reason_of(problem)}", flush=True)
        raise


# The tensors of the newest messages are kept. Otherwise a thread of gloo may be the last to hold
# one, and torch 2.4 can hang at the end: that thread waits for Python, and Python for the thread.
SENT: deque[list[Tensor]] = deque(maxlen=16)


def add_up(tensor: Tensor, replicas: int) -> None:
    """Replace a tensor by its sum over the replicas, which has the same bits on each of them."""
    if replicas == 1:
        return
    total = tensor if tensor.is_cuda else tensor.cpu()  # NCCL adds on the GPU, gloo on the CPU
    SENT.append([total])
    dist.all_reduce(total)
    tensor.copy_(total)


def gather(numbers: Sequence[int]) -> list[list[int]]:
    """Return the whole numbers of every replica, by rank; all of them give as many."""
    if not dist.is_initialized():
        return [list(numbers)]
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    own = torch.tensor(numbers, dtype=torch.int64, device=device)
    found = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
    SENT.append([own, *found])
    dist.all_gather(found, own)
    return [each.tolist() for each in found]


def is_loss_of_a_replica(problem: Exception) -> bool:
    """Return whether an error says that another replica ended; gloo has no errors of its own."""
    if isinstance(problem, dist.DistError):
        return True
    return isinstance(problem, RuntimeError) and "gloo" in str(problem)


def is_different(numbers: Sequence[int]) -> bool:
    """Return whether one of the replicas has other numbers than this one."""
    return any(other != list(numbers) for other in gather(numbers))


# ---- 5. Training ---------------------------------------------------------------------------------
class Epoch(NamedTuple):
    """A line of history.csv."""

    epoch: int
    loss: float
    val_loss: float
    val_accuracy: float
    seconds: float


@dataclass
class Run:
    """All that a training works with, and how far it has come."""

    flags: argparse.Namespace
    replica: Replica
    device: torch.device
    train: Table
    val: Table
    model: nn.Module
    compiled: nn.Module  # the same model with the same weights, as torch.compile runs it if asked
    gradients: Tensor  # of all weights, as one tensor
    optimizer: torch.optim.Optimizer
    shuffle: torch.Generator
    log: list[str] = field(default_factory=list)  # the lines of training.log
    history: list[Epoch] = field(default_factory=list)
    best_loss: float = math.inf
    best_epoch: int = 0
    best_weights: dict[str, Tensor] = field(default_factory=dict)
    resumed: list[int] = field(default_factory=list)  # epochs in which a checkpoint was loaded
    failures: set[str] = field(default_factory=set)  # what has failed and has been said
    writing: threading.Thread | None = None  # which writes the last checkpoint

    @property
    def shares_layers(self) -> bool:
        """Return whether the replicas share the network's layers and not the table's rows."""
        return self.train.replicas < self.replica.size

    @property
    def batch_size(self) -> int:
        """Return the rows of a step, of all replicas together."""
        rows: int = self.flags.batch_size or self.train.rows
        return min(rows, self.train.rows)

    def say(self, line: str) -> None:
        """Print a line and keep it for training.log; only the first replica does."""
        if self.replica.rank == 0:
            self.log.append(line)
            print(line, flush=True)

    @contextlib.contextmanager
    def warn_if_it_fails(self, what: str) -> Iterator[None]:
        """Say once what fails, and continue: a failed report must not end the training."""
        try:
            yield
        except Exception as problem:  # noqa: BLE001 - storage clients and protobuf raise anything
            if what not in self.failures:
                sys.stderr.write(f"train_nn.py: {what}: {reason_of(problem)}\n")
            self.failures.add(what)

    def is_out_of_patience(self) -> bool:
        """Return whether the validation loss has not become better for too many epochs."""
        patience: int = self.flags.patience
        epochs_without_gain = len(self.history) - self.best_epoch
        return patience > 0 and epochs_without_gain >= patience


def join_gradients(weights: Sequence[nn.Parameter]) -> Tensor:
    """Make the gradients of all weights parts of one tensor, which one message can add up."""
    sizes = [weight.numel() for weight in weights]
    gradients = weights[0].detach().new_zeros(sum(sizes))
    for weight, part in zip(weights, gradients.split(sizes), strict=True):
        weight.grad = part.view_as(weight)
    return gradients


def forward(model: nn.Module, X: Tensor, precision: str) -> Tensor:
    """Return the model's outputs for some rows, computed in the precision of the flags."""
    if precision == "bfloat16":
        with torch.autocast(X.device.type, torch.bfloat16):
            outputs: Tensor = model(X)
        return outputs.float()  # the loss is computed in float32
    outputs = model(X)
    return outputs


def sum_over_rows(values: Tensor, rows: int, function: str) -> Tensor:
    """Return the sum of a function's values for some rows; refuse a mean, for example."""
    require(
        values.numel() == rows,
        f"{function}() returns {values.numel()} values for {rows} rows; return one for each row",
    )
    return values.sum()


def train_epoch(run: Run) -> float:
    """Take a step for each batch of the training rows; return their mean loss meanwhile."""
    run.compiled.train()
    total = torch.zeros((), device=run.device)
    for step in run.train.steps(run.batch_size, run.shuffle):
        run.gradients.zero_()
        for X, y in step.chunks:
            if len(X) > 0:  # other replicas may have all rows of this step
                outputs = forward(run.compiled, X, run.flags.precision)
                loss = sum_over_rows(loss_of_each_row(outputs, y), len(X), "loss_of_each_row")
                (loss / step.rows).backward()  # the rows of all replicas, see below
                total += loss.detach()
        # The sum over the replicas is the gradient of the mean loss over all rows of the step.
        add_up(run.gradients, run.train.replicas)
        run.optimizer.step()
        finish_step(run.device)
    add_up(total, run.train.replicas)
    share_running_averages(run.model, run.train.replicas)
    return total.item() / run.train.rows


def finish_step(device: torch.device) -> None:
    """Let XLA compute what it has put off; other devices compute by themselves."""
    if device.type == "xla":
        import torch_xla

        torch_xla.sync()


def share_running_averages(model: nn.Module, replicas: int) -> None:
    """Give all replicas the mean of their buffers, such as those of batch normalisation."""
    if replicas == 1:
        return
    for buffer in model.buffers():
        if buffer.is_floating_point():
            add_up(buffer, replicas)
            buffer /= replicas


@torch.no_grad()
def evaluate(model: nn.Module, table: Table, precision: str) -> tuple[float, float]:
    """Return the mean loss on a table's rows, and the share of them that the model gets right."""
    model.eval()
    sums = torch.zeros(2, device=table.X.device)
    for X, y in table.chunks():
        if len(X) > 0:
            outputs = forward(model, X, precision)
            loss = sum_over_rows(loss_of_each_row(outputs, y), len(X), "loss_of_each_row")
            right = sum_over_rows(is_right(outputs, y), len(X), "is_right")
            sums += torch.stack([loss, right])
    add_up(sums, table.replicas)
    loss_sum, right_rows = sums.tolist()
    return loss_sum / table.rows, right_rows / table.rows


def fit(run: Run, reports: "Reports | None") -> None:
    """Train until the epochs or the patience run out; then take the best weights."""
    flags = run.flags
    state = run.model.state_dict()  # refers to the weights, which the steps change in place
    seconds_before = run.history[-1].seconds if run.history else 0  # of a run that is resumed
    begun = time.perf_counter() - seconds_before
    seed_random_numbers(run)
    while len(run.history) < flags.epochs and not run.is_out_of_patience():
        epoch = len(run.history) + 1
        for group in run.optimizer.param_groups:
            group["lr"] = learning_rate_at(epoch, flags.epochs, flags.learning_rate)
        loss = train_epoch(run)
        val_loss, accuracy = evaluate(run.compiled, run.val, flags.precision)
        require(math.isfinite(val_loss), f"no finite loss in epoch {epoch}; lower --learning_rate")
        run.history.append(Epoch(epoch, loss, val_loss, accuracy, time.perf_counter() - begun))
        if val_loss < run.best_loss - flags.min_delta:
            run.best_loss, run.best_epoch = val_loss, epoch
            run.best_weights = {name: value.clone() for name, value in state.items()}
        if reports:
            reports.after_epoch(run)
        if flags.checkpoint_every and epoch % flags.checkpoint_every == 0:
            save_checkpoint(run)
            seed_random_numbers(run)
    if run.is_out_of_patience():
        run.say(f"stopped: no better validation loss for {flags.patience} epochs")
    if flags.restore_best and run.best_weights:
        run.model.load_state_dict(run.best_weights)


def seed_random_numbers(run: Run) -> None:
    """Seed dropout's random numbers anew: a resumed run draws the same as one without a stop."""
    # Primes keep seeds and epochs apart.
    number = run.flags.seed * 1_000_003 + len(run.history) * 1_009
    if not run.shares_layers:  # replicas that share layers draw the same numbers
        number += run.replica.rank
    torch.manual_seed(number % 2**63)


# ---- 6. Checkpoints ------------------------------------------------------------------------------
CHECKPOINTS = ("checkpoint-0.pt", "checkpoint-1.pt")  # they take turns: one is always whole


def describe_training(run: Run) -> dict[str, object]:
    """Return what a checkpoint must have in common with the run that resumes from it."""
    names = ("hidden", "seed", "learning_rate", "min_delta", "precision")
    return {
        "features": run.train.X.shape[1],
        **{name: vars(run.flags)[name] for name in names},
        "batch_size": run.batch_size,
        "optimizer": type(run.optimizer).__name__,
        "training table": run.train.digest,
        "validation table": run.val.digest,
    }


def save_checkpoint(run: Run) -> None:
    """Save all that the next epoch depends on; a failure is said, and the training continues."""
    weights, best, optimizer = whole_layers(run)
    if run.replica.rank > 0:
        return
    state = {
        "about": describe_training(run),
        "model": weights,
        "optimizer": optimizer,
        "shuffle": run.shuffle.get_state(),
        "history": [tuple(line) for line in run.history],
        "best": (run.best_loss, run.best_epoch, best),
        "resumed": run.resumed,
        "log": run.log,
    }
    file = io.BytesIO()
    torch.save(state, file)
    content = file.getvalue()
    turn = len(run.history) // run.flags.checkpoint_every % 2
    wait_for_checkpoint(run)
    run.writing = threading.Thread(
        target=write_checkpoint, args=(run, CHECKPOINTS[turn], content + checksum(content))
    )
    run.writing.start()  # the training continues meanwhile


def write_checkpoint(run: Run, name: str, content: bytes) -> None:
    """Write a checkpoint to the disk or the bucket."""
    with run.warn_if_it_fails(f"no checkpoint, --checkpoint_dir {run.flags.checkpoint_dir}"):
        write_files(run.flags.checkpoint_dir, {name: content})


def wait_for_checkpoint(run: Run) -> None:
    """Wait until the last checkpoint is written."""
    if run.writing:
        run.writing.join()


def checksum(content: bytes) -> bytes:
    """Return the 32 bytes that follow a checkpoint's own: torch.load does not see all damage."""
    return hashlib.sha256(content).digest()


def whole_layers(
    run: Run,
) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, object]]:
    """Return the weights, the best weights and the optimizer's state, of whole layers."""
    weights, optimizer = run.model.state_dict(), run.optimizer.state_dict()
    if not run.shares_layers:
        return weights, run.best_weights, optimizer
    import shared_layers

    return (
        shared_layers.whole(run.model, weights),
        shared_layers.whole(run.model, run.best_weights),
        shared_layers.whole_optimizer(run.model, optimizer),
    )


def take_layers(
    run: Run, weights: dict[str, Tensor], best: dict[str, Tensor], *, optimizer: dict[str, object]
) -> None:
    """Take the weights, the best weights and the optimizer's state of a checkpoint."""
    if run.shares_layers:
        import shared_layers

        weights = shared_layers.part(run.model, weights)
        best = shared_layers.part(run.model, best)
        optimizer = shared_layers.part_optimizer(run.model, optimizer)
    run.model.load_state_dict(weights)
    run.optimizer.load_state_dict(optimizer)
    run.best_weights = best


def read_checkpoint(folder: str) -> bytes:
    """Return the newest checkpoint that is whole, b"" if there is none."""
    newest, newest_epoch, damaged = b"", 0, False
    for name in CHECKPOINTS:
        try:
            content = read_bytes(within(folder, name))
        except FileNotFoundError:
            continue
        state, end = content[:-32], content[-32:]
        if end == checksum(state):
            epoch = len(load(state)["history"])
            if epoch > newest_epoch:
                newest, newest_epoch = state, epoch
            continue
        require(is_own(content), f"{name} is not a file of this script; name another folder")
        print(f"train_nn.py: {folder}: {name} is damaged and of no use", flush=True)
        damaged = True
    if damaged and not newest:
        print("train_nn.py: no checkpoint is whole; begins anew", flush=True)
    return newest


def is_own(content: bytes) -> bool:
    """Return whether a damaged file was a checkpoint of this script, which has two such words."""
    return content == b"" or b"training table" in content or b"validation table" in content


def receive_from_first(content: bytes) -> bytes:
    """Return the bytes that the first replica has; those of the others do not matter."""
    if not dist.is_initialized():
        return content
    size = gather([len(content)])[0][0]
    if size == 0:
        return b""
    held = bytearray(content if dist.get_rank() == 0 else bytes(size))
    sent = torch.frombuffer(held, dtype=torch.uint8)
    sent = sent.to("cuda" if dist.get_backend() == "nccl" else "cpu")
    SENT.append([sent])
    dist.broadcast(sent, 0)
    return bytes(sent.cpu().numpy())


def load(content: bytes) -> dict[str, Any]:
    """Return the state in a checkpoint; nothing in it is run."""
    state: dict[str, Any] = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    return state


def resume(run: Run) -> None:
    """Take the newest checkpoint, if there is one; refuse that of another training."""
    folder = run.flags.checkpoint_dir
    advice = "its checkpoint is not one of this script; delete it, or name another folder"
    with refuse_with(f"--checkpoint_dir {folder}", advice):
        content = receive_from_first(read_checkpoint(folder) if run.replica.rank == 0 else b"")
        if not content:
            return
        state = load(content)
        for what, here in describe_training(run).items():
            require(
                state["about"][what] == here,
                f"it holds a checkpoint of another training, whose {what} is "
                f"{state['about'][what]} and not {here}; name another, or delete it",
            )
        require(
            len(state["history"]) <= run.flags.epochs,
            f"its checkpoint is beyond --epochs {run.flags.epochs}; name more, or another folder",
        )
        run.best_loss, run.best_epoch, best = state["best"]
        take_layers(run, state["model"], best, optimizer=state["optimizer"])
        run.shuffle.set_state(state["shuffle"])
        run.history = [Epoch(*line) for line in state["history"]]
        run.resumed = [*state["resumed"], len(run.history) + 1]
        run.log = list(state["log"])
    run.say(f"resumes from a checkpoint, in epoch {len(run.history) + 1}")


def delete_checkpoints(flags: argparse.Namespace) -> None:
    """Delete the checkpoints of a training whose results are written, and their own folder."""
    folder: str = flags.checkpoint_dir
    for name in CHECKPOINTS:
        delete(within(folder, name))
        delete(within(folder, f"{name}.part"))  # half written when an earlier run was killed
    if folder == within(flags.model_dir, "checkpoints") and "://" not in local_path(folder):
        with contextlib.suppress(OSError):  # the folder holds other files
            Path(local_path(folder)).rmdir()


# ---- 7. Reports ----------------------------------------------------------------------------------
def is_due(epoch: int, epochs: int, points: int) -> bool:
    """Return whether this epoch is one of so many that are spread over the whole run."""
    return epoch * points // epochs > (epoch - 1) * points // epochs


class Reports:
    """What the first replica reports: lines, history.csv, TensorBoard's curves, tuning metrics."""

    def __init__(self, run: Run) -> None:
        """Open what there is to report to, and report the epochs before a checkpoint again."""
        self.shown = time.perf_counter()
        self.due = self.shown + 1
        self.tuner = open_tuner(run)
        self.board = open_board(run)
        for line in run.history:
            self.add(run, line)

    def after_epoch(self, run: Run) -> None:
        """Report the last epoch; write files and objects in a twentieth of the time at most."""
        now, last = time.perf_counter(), run.history[-1]
        due = last.epoch == 1 or is_due(last.epoch, run.flags.epochs, 10)
        if due or run.is_out_of_patience() or now - self.shown > 2:
            self.shown = now
            run.say(
                f"epoch {last.epoch:5d}  loss {last.loss:.4f}  "
                f"validation loss {last.val_loss:.4f}  accuracy {last.val_accuracy:.4f}  "
                f"{last.seconds:.1f} s"
            )
        if not run.is_out_of_patience():  # else end() reports it, with the best weights' metrics
            self.add(run, last)
        if now > self.due:
            self.write(run)
            ended = time.perf_counter()
            self.due = ended + max(1, 20 * (ended - now))

    def add(self, run: Run, line: Epoch) -> None:
        """Add an epoch to the curves and to the tuner's metrics, which both keep only some."""
        if self.board and (line.epoch == 1 or is_due(line.epoch, run.flags.epochs, 999)):
            with run.warn_if_it_fails(f"--tensorboard_dir {run.flags.tensorboard_dir}"):
                self.board.add(line)
        # cloudml-hypertune keeps the latest 100 lines: two for each of 47 epochs and the model.
        if line.epoch < run.flags.epochs and is_due(line.epoch, run.flags.epochs, 47):
            self.tell_tuner(run, line.epoch, loss=line.val_loss, accuracy=line.val_accuracy)

    def write(self, run: Run) -> None:
        """Write the history and the curves so far, for those who watch the run."""
        folder = run.flags.model_dir
        with run.warn_if_it_fails(f"--model_dir {folder}"):
            delete(within(folder, "metrics.json"))  # that of an earlier run
            write_files(folder, {"history.csv": as_csv(run.history)})
        if self.board:
            with run.warn_if_it_fails(f"--tensorboard_dir {run.flags.tensorboard_dir}"):
                self.board.write()

    def tell_tuner(self, run: Run, epoch: int, *, loss: float, accuracy: float) -> None:
        """Report to the tuner, if this is one of its trials."""
        if self.tuner:
            with run.warn_if_it_fails("a metric was not reported to the tuner"):
                report = self.tuner.report_hyperparameter_tuning_metric
                report("validation_loss", loss, epoch)
                report("validation_accuracy", accuracy, epoch)

    def end(self, run: Run, loss: float, accuracy: float) -> None:
        """Report the model that is written."""
        self.tell_tuner(run, len(run.history), loss=loss, accuracy=accuracy)
        if self.board:
            with run.warn_if_it_fails(f"--tensorboard_dir {run.flags.tensorboard_dir}"):
                self.board.end(run, loss, accuracy)


def is_trial(env: Mapping[str, str]) -> bool:
    """Return whether this is a trial of a hyperparameter tuning job of Vertex AI."""
    if env.get("CLOUD_ML_TRIAL_ID") or env.get("CLOUD_ML_HP_METRIC_FILE"):
        return True
    spec = json.loads(env.get("CLUSTER_SPEC") or "{}")
    return bool(spec.get("task", {}).get("trial"))


def open_tuner(run: Run) -> "hypertune.HyperTune | None":
    """Return what reports to Vertex AI's tuner; without the package, say so once."""
    if not is_trial(os.environ):
        return None
    try:
        import hypertune
    except ImportError as problem:
        run.say(f"nothing is reported to the tuner ({problem}); pip install cloudml-hypertune")
        return None
    with run.warn_if_it_fails("nothing is reported to the tuner"):
        return hypertune.HyperTune()
    return None


def open_board(run: Run) -> "Board | None":
    """Return what writes for TensorBoard; without the package, say so once."""
    if not run.flags.tensorboard_dir:
        return None
    try:
        return Board(run)
    except Refused:
        raise
    except Exception as problem:  # noqa: BLE001 - protobuf has errors of its own
        why = reason_of(problem)
        run.say(f"nothing is written for TensorBoard ({why}); pip install tensorboard")
        return None


HYPERPARAMETERS = (
    "epochs",
    "learning_rate",
    "batch_size",
    "patience",
    "min_delta",
    "restore_best",
    "seed",
    "parallelism",
    "precision",
)


class Board:
    """The curves and the flags of a run, for TensorBoard."""

    def __init__(self, run: Run) -> None:
        """Begin a file of events, in a bucket by way of a folder on this machine."""
        from torch.utils.tensorboard import SummaryWriter

        folder = local_path(run.flags.tensorboard_dir)
        self.uri = ""
        if "://" in folder:
            self.uri = folder
            self.copies = tempfile.TemporaryDirectory()  # it goes when the board does
            folder = self.copies.name
        self.begun = time.time() - (run.history[-1].seconds if run.history else 0)
        self.last = 0
        with refuse_with(f"--tensorboard_dir {run.flags.tensorboard_dir}", "name another folder"):
            # purge_step: TensorBoard discards what an earlier run wrote of the epochs from 1 on.
            self.writer = SummaryWriter(folder, purge_step=1)
            self.writer.add_text("network", f"```\n{run.model}\n```")
            self.write()  # refused now, not after the training

    def add(self, line: Epoch) -> None:
        """Add an epoch to the curves."""
        self.last = line.epoch
        moment = self.begun + line.seconds
        self.writer.add_scalar("loss", line.loss, line.epoch, walltime=moment)
        self.writer.add_scalar("val_loss", line.val_loss, line.epoch, walltime=moment)
        self.writer.add_scalar("val_accuracy", line.val_accuracy, line.epoch, walltime=moment)

    def write(self) -> None:
        """Write what was added; to a bucket, the whole files."""
        self.writer.flush()
        if self.uri:
            folder = Path(self.writer.log_dir)
            write_files(self.uri, {file.name: file.read_bytes() for file in folder.iterdir()})

    def end(self, run: Run, loss: float, accuracy: float) -> None:
        """Add the flags and the result, for the page HPARAMS, and write the rest."""
        from torch.utils.tensorboard.summary import hparams

        if run.history[-1].epoch > self.last:
            self.add(run.history[-1])
        flags = {name: vars(run.flags)[name] for name in HYPERPARAMETERS}
        flags["hidden"] = ",".join(str(width) for width in run.flags.hidden)
        result = {"model/loss": loss, "model/accuracy": accuracy}
        for summary in hparams(flags, result):  # SummaryWriter.add_hparams begins another file
            self.writer.file_writer.add_summary(summary)  # type: ignore[attr-defined]
        for name, value in result.items():
            self.writer.add_scalar(name, value)
        self.write()
        self.writer.close()


# ---- 8. Results ----------------------------------------------------------------------------------
def as_csv(history: Sequence[Epoch]) -> bytes:
    """Return the lines of history.csv."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([Epoch._fields, *history])
    return text.getvalue().encode()


def last_lines(model_dir: str, loss: float, accuracy: float) -> list[str]:
    """Return the last lines printed, in which SageMaker looks for its metrics."""
    return [
        f"wrote model.pt, metrics.json, history.csv and training.log to {model_dir}",
        f"validation:accuracy = {accuracy:.4f}",
        f"validation:loss = {loss:.4f}",
    ]


def collect_results(
    run: Run, loss: float, accuracy: float, *, seconds: Mapping[str, float]
) -> dict[str, bytes]:
    """Return the files to write, by name; all replicas take part."""
    replicas = describe_replicas(run)
    run.model.zero_grad()
    del run.gradients, run.optimizer, run.best_weights  # whole layers take this memory now
    saved = {
        "model": copy_weights(run),
        "features": run.train.X.shape[1],
        "hidden": run.flags.hidden,
        "preparation": run.train.preparation,
    }
    model = io.BytesIO()
    torch.save(saved, model)
    metrics = {
        "accuracy": accuracy,
        "loss": loss,
        "device": str(run.device),
        "threads": torch.get_num_threads(),
        "seconds": {**seconds, "training": run.history[-1].seconds},
        "epochs": {"last": len(run.history), "best": run.best_epoch, "resumed": run.resumed},
        "world_size": run.replica.size,
        "replicas": replicas,
        "configuration": vars(run.flags),
        "versions": {"python": sys.version.split()[0], "torch": torch.__version__},
    }
    log = [*run.log, *last_lines(run.flags.model_dir, loss, accuracy)]
    return {
        "model.pt": model.getvalue(),
        "preparation.json": run.train.preparation.encode(),
        "history.csv": as_csv(run.history),
        "training.log": "".join(f"{line}\n" for line in log).encode(),
        "metrics.json": json.dumps(metrics, indent=2).encode(),
    }


def copy_weights(run: Run) -> dict[str, Tensor]:
    """Return copies of the weights, of whole layers, in the CPU's memory."""
    weights = run.model.state_dict()
    if run.shares_layers:
        import shared_layers

        whole: dict[str, Tensor] = shared_layers.whole(run.model, weights)
        return whole
    return {name: value.cpu().clone() for name, value in weights.items()}


def describe_replicas(run: Run) -> list[dict[str, object]]:
    """Return of each replica its rows, and how many bytes its weights and its optimizer take."""
    parameters = sum(weight.nbytes for weight in run.model.parameters())
    optimizer = 0
    for state in run.optimizer.state_dict()["state"].values():
        for value in state.values():
            if isinstance(value, Tensor):  # some optimizers keep numbers as well
                optimizer += value.nbytes
    replicas: list[dict[str, object]] = []
    for rank, sizes in enumerate(gather([parameters, optimizer])):
        own = run.train.rows_of(0 if run.shares_layers else rank)
        rows = [{"start": each.start, "stop": each.stop} for each in own]
        replicas.append(
            {
                "rank": rank,
                "rows": rows[0] if len(rows) == 1 else rows,
                "bytes": {"parameters": sizes[0], "optimiser": sizes[1]},
            }
        )
    return replicas


def write_results(folder: str, files: Mapping[str, bytes]) -> None:
    """Write the results, metrics.json last, and leave no preparation of an earlier model."""
    with refuse_with(f"--model_dir {folder}", "name another folder"):
        write_files(folder, {name: content for name, content in files.items() if content})
        if not files["preparation.json"]:
            delete(within(folder, "preparation.json"))


# ---- 9. Flags ------------------------------------------------------------------------------------
def number(text: str, needed: str = "a number from 0 up") -> float:
    """Read a number from 0 up."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 2**53:
        raise argparse.ArgumentTypeError(f"needs {needed}, not {text!r}")
    return value


def whole_number(text: str, needed: str = "a whole number from 0 up") -> int:
    """Read a whole number from 0 up; tuners write 64 as 64.0."""
    value = number(text, needed)
    if value != int(value):
        raise argparse.ArgumentTypeError(f"needs {needed}, not {text!r}")
    return int(value)


def count(text: str) -> int:
    """Read a whole number from 1 up."""
    needed = "a whole number from 1 up"
    value = whole_number(text, needed)
    if value == 0:
        raise argparse.ArgumentTypeError(f"needs {needed}, not {text!r}")
    return value


def widths(text: str) -> list[int]:
    """Read whole numbers with commas between them."""
    return [count(each) for each in text.split(",")]


def truth(text: str) -> bool:
    """Read true or false."""
    if text.lower() not in ("true", "false"):
        raise argparse.ArgumentTypeError(f"needs true or false, not {text!r}")
    return text.lower() == "true"


class FlagParser(argparse.ArgumentParser):
    """Refuses a flag in one sentence."""

    def error(self, message: str) -> NoReturn:
        """Leave with exit code 2."""
        self.exit(2, f"train_nn.py: {message}; --help lists the flags\n")


def parse_flags(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the flags; those that a service adds and this script does not know end in `unknown`."""
    env = os.environ
    parser = FlagParser(
        "train_nn.py",
        allow_abbrev=False,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    flag = parser.add_argument
    for part in ("train", "val"):
        channel = find_channel(part)
        text = f"npz archive with X_{part} and y_{part}, or a folder or a pattern of several"
        flag(f"--{part}", required=not channel, default=channel, help=text)
    flag("--epochs", type=count, default=1000, help="passes over the training rows, at most")
    flag("--learning_rate", type=number, default=0.001, help="how far a step moves the weights")
    flag("--batch_size", type=whole_number, default=0, help="rows per step; 0: all rows")
    flag("--hidden", type=widths, default=[64, 32], help="widths of the hidden layers: 64,32")
    flag("--patience", type=whole_number, default=50, help="epochs without gain; 0: no limit")
    flag("--min_delta", type=number, default=0.0, help="smaller gains do not count")
    flag("--restore_best", type=truth, default=True, help="keep the best weights, not the last")
    flag("--seed", type=whole_number, default=0, help="same seed, same machine: same model")
    flag("--device", default="auto", help="auto, cpu, cuda, mps or xla")
    precisions = ("float32", "tf32", "bfloat16")
    flag("--precision", choices=precisions, default="float32", help="lower is faster on a GPU")
    flag("--compile", type=truth, default=False, help="let torch.compile compile the network")
    flag("--parallelism", choices=("data", "model"), default="data", help="share rows, or layers")
    flag("--checkpoint_every", type=whole_number, default=0, help="epochs between; 0: none")
    flag("--checkpoint_dir", default=env.get("AIP_CHECKPOINT_DIR"), help="folder for checkpoints")
    results = env.get("AIP_MODEL_DIR") or env.get("SM_MODEL_DIR") or "."
    flag("--model_dir", default=results, help="folder for the results")
    events = env.get("AIP_TENSORBOARD_LOG_DIR")
    flag("--tensorboard_dir", default=events, help="folder for TensorBoard's events")
    flags, unknown = parser.parse_known_args(arguments)
    if unknown and not unknown[0].startswith("-"):
        parser.error(f"{unknown[0]!r} belongs to no flag")
    flags.unknown = unknown
    if flags.checkpoint_every and not flags.checkpoint_dir:
        flags.checkpoint_dir = default_checkpoint_dir(flags.model_dir)
    return flags


def find_channel(part: str) -> str | None:
    """Return the archive in SageMaker's channel of this name, or its folder if it has several."""
    folder = os.environ.get(f"SM_CHANNEL_{part.upper()}")
    archives = sorted(Path(folder).glob("*.npz")) if folder else []
    return str(archives[0]) if len(archives) == 1 else folder


def default_checkpoint_dir(model_dir: str) -> str:
    """Return the folder that SageMaker keeps, if the job has one, or one beside the results."""
    if "SM_MODEL_DIR" in os.environ:
        kept = Path(os.environ["SM_MODEL_DIR"]).with_name("checkpoints")
        if kept.is_dir():
            return str(kept)
    return within(model_dir, "checkpoints")


# ---- 10. The device, and the whole run -----------------------------------------------------------
def choose_device(wanted: str) -> torch.device:
    """Return the device to train on; `auto` takes the first of CUDA, TPU and Apple GPU."""
    usable = []
    if torch.cuda.is_available():
        usable.append("cuda")
    if importlib.util.find_spec("torch_xla"):
        usable.append("xla")
    if torch.backends.mps.is_available():
        usable.append("mps")
    usable.append("cpu")
    name = usable[0] if wanted == "auto" else wanted.lower()
    advice = "install torch_xla for it" if name == "xla" else "name one"
    require(
        name in usable,
        f"--device {wanted}: here torch can use {' or '.join(usable)}; {advice}",
    )
    if name == "xla":
        import torch_xla

        xla: torch.device = torch_xla.device()
        return xla
    if name == "cuda":
        own, gpus = int(os.environ.get("LOCAL_RANK") or 0), torch.cuda.device_count()
        require(
            own < gpus,
            f"--device {wanted}: this machine has {gpus} GPU{'s' * (gpus > 1)}, and this is its "
            f"replica {own + 1}; start one replica for each GPU, or choose --device cpu",
        )
        torch.cuda.set_device(own)
    return torch.device(name)


def choose_threads(rows: int, weights: int) -> int:
    """Return one CPU thread for each 50 million operations of a step: see benchmarks/README.md."""
    operations = 6 * rows * weights  # forward a product and a sum for each, backward twice that
    return max(1, min(torch.get_num_threads(), operations // 50_000_000))


def set_precision(precision: str, device: torch.device) -> None:
    """Let a GPU multiply float32 numbers as TF32, if the flags say so."""
    if precision == "tf32":
        has = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
        require(
            has,
            "--precision tf32: only CUDA GPUs from Ampere (A100, L4) on have it; choose float32",
        )
        torch.set_float32_matmul_precision("high")


def read_tables(
    flags: argparse.Namespace, replica: Replica, device: torch.device
) -> tuple[Table, Table]:
    """Return this replica's rows to train on and to validate on; refuse tables that differ."""
    rank, replicas = replica.rank, replica.size
    if flags.parallelism == "model":  # replicas that share the layers need all rows
        rank, replicas = 0, 1
    train = read_table(flags.train, "train", rank=rank, replicas=replicas, device=device)
    val = read_table(flags.val, "val", rank=rank, replicas=replicas, device=device)
    features, other = train.X.shape[1], val.X.shape[1]
    require(
        features == other,
        f"--train has {features} features, --val {other}; prepare both alike",
    )
    require(
        not train.preparation or val.preparation in ("", train.preparation),
        f"--val {flags.val}: its preparation is not that of --train; prepare both alike",
    )
    return train, val


def start_run(
    flags: argparse.Namespace, replica: Replica, device: torch.device, *, train: Table, val: Table
) -> Run:
    """Build the model and its optimizer."""
    model = build_model(train.X.shape[1], flags.hidden, flags.seed)
    if train.replicas < replica.size:
        with refuse_with("--parallelism model", "choose other widths in --hidden"):
            import shared_layers
        try:
            model = shared_layers.share(model, replica.rank, replica.size)
        except ValueError as problem:  # it says all that there is to say
            raise Refused(str(problem)) from None
    model = model.to(device)
    compiled = compile_model(model, device) if flags.compile else model
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    gradients = join_gradients(weights)
    optimizer = build_optimizer(weights, flags.learning_rate)
    shuffle = torch.Generator().manual_seed(flags.seed)
    run = Run(flags, replica, device, train, val, model, compiled, gradients, optimizer, shuffle)
    torch.set_num_threads(choose_threads(run.batch_size // train.replicas, len(gradients)))
    return run


def compile_model(model: nn.Module, device: torch.device) -> nn.Module:
    """Return the model as torch.compile runs it, which happens in the first step."""
    require(device.type != "xla", "--compile true: XLA compiles by itself; leave it out")
    # Not model.compile(): with torch 2.11 and 2.13 it compiles nothing of a Sequential.
    return cast(nn.Module, torch.compile(model, mode="reduce-overhead"))


def train_model(flags: argparse.Namespace, replica: Replica) -> None:
    """Read the tables, train the model, write the results."""
    begun = time.perf_counter()
    device = choose_device(flags.device)
    set_precision(flags.precision, device)
    join(replica, device)
    joined = time.perf_counter()
    train, val = read_tables(flags, replica, device)
    seconds = {"start_up": joined - begun, "data": time.perf_counter() - joined}
    run = start_run(flags, replica, device, train=train, val=val)
    introduce(run)
    if replica.rank == 0:
        require_writable("--model_dir", flags.model_dir)
        if flags.checkpoint_every:
            require_writable("--checkpoint_dir", flags.checkpoint_dir)
    if flags.checkpoint_every:
        resume(run)
    reports = Reports(run) if replica.rank == 0 else None
    try:
        fit(run, reports)
    finally:
        wait_for_checkpoint(run)  # a notebook's next run looks for it
    loss, accuracy = evaluate(run.compiled, run.val, flags.precision)
    files = collect_results(run, loss, accuracy, seconds=seconds)
    if reports:
        write_results(flags.model_dir, files)
        reports.end(run, loss, accuracy)
        if flags.checkpoint_every:
            with run.warn_if_it_fails(f"--checkpoint_dir {flags.checkpoint_dir}"):
                delete_checkpoints(flags)
    for line in last_lines(flags.model_dir, loss, accuracy):
        run.say(line)


def introduce(run: Run) -> None:
    """Say what is trained on which rows."""
    rank, size = run.replica.rank, run.replica.size
    if size > 1:
        ranges = run.train.rows_of(0 if run.shares_layers else rank)
        words = [f"{each.start} to {each.stop - 1}" for each in ranges if each]
        rows = f"rows {', '.join(words)}" if words else "no rows"
        line = f"replica {rank} of {size}, {rows}"
        print(line, flush=True)  # all of them say it
        run.log.append(line)
    steps = math.ceil(run.train.rows / run.batch_size)
    run.say(
        f"{run.train.rows} rows, {run.train.X.shape[1]} features, {len(run.gradients)} weights, "
        f"{steps} {'step' if steps == 1 else 'steps'} an epoch, on {run.device}"
    )
    if run.flags.compile:
        run.say("torch compiles the network in the first steps, which takes up to a minute")
    if run.flags.unknown:
        run.say(f"ignored, not flags of this script: {' '.join(run.flags.unknown)}")


def require_writable(flag: str, folder: str) -> None:
    """Refuse a folder that cannot be written to, now and not after the training."""
    with refuse_with(f"{flag} {folder}", "name another folder"):
        write_files(folder, {"write-test": b""})
        delete(within(folder, "write-test"))


def start_one_process_for_each_gpu(gpus: int, replica: Replica, flags: argparse.Namespace) -> int:
    """Hand over to torchrun, which starts and watches the replicas of this machine."""
    words = ["--nproc_per_node", str(gpus)]
    attempts = 1
    if replica.size > 1:  # several machines: each starts its own, and they meet at the first
        host, _, port = replica.url.removeprefix("tcp://").rpartition(":")
        words += ["--nnodes", str(replica.size), "--node_rank", str(replica.rank)]
        words += ["--master_addr", host, "--master_port", port]
    else:
        words += ["--standalone"]
        if flags.checkpoint_every:
            attempts = 4  # each resumes from the newest checkpoint
    threads = max(1, torch.get_num_threads() // gpus)
    os.environ.setdefault("OMP_NUM_THREADS", str(threads))  # torchrun would take one, and warn
    for _ in range(attempts):
        code = torchrun([*words, __file__, *sys.argv[1:]])
        if code >= 0 and code != RESTART:  # no replica was lost
            return code
    return end_without_the_others(flags)


def torchrun(words: Sequence[str]) -> int:
    """Run torchrun; return its replicas' exit code, that of a refusal if they have several."""
    from torch.distributed import run
    from torch.distributed.elastic.multiprocessing import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

    try:
        run.main(words)
    except SignalException as received:  # Ctrl-C, for example; its replicas have ended
        return 128 + received.sigval
    except ChildFailedError as failed:
        codes = [each.exitcode for each in failed.failures.values()]
        return 2 if 2 in codes else codes[0]
    return 0


@contextlib.contextmanager
def callers_settings() -> Iterator[None]:
    """Give a notebook that runs this file its threads, precision and random state back."""
    threads, precision = torch.get_num_threads(), torch.get_float32_matmul_precision()
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision(precision)


TOO_LARGE = (
    "this network needs more memory than there is; choose smaller --hidden, or start several "
    "replicas with --parallelism model"
)
RESTART = 134  # Vertex AI starts a job that ends with this code again, up to three times


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, turn what a user can fix into one sentence, and return the exit code."""
    flags = parse_flags(arguments)
    beside = str(Path(__file__).resolve().parent)
    if beside not in sys.path:
        sys.path.append(beside)  # for the files that may lie beside this one
    try:
        replica = find_replicas(os.environ)
        gpus = torch.cuda.device_count() if flags.device in ("auto", "cuda") else 1
        if gpus > 1 and "LOCAL_RANK" not in os.environ:
            return start_one_process_for_each_gpu(gpus, replica, flags)
        with callers_settings():
            train_model(flags, replica)
    except Refused as problem:
        return end(2, str(problem))
    except KeyboardInterrupt:
        if "LOCAL_RANK" in os.environ:  # torchrun passes Ctrl-C on, after the terminal has sent it
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return end(130, "interrupted, no model was written")
    except (MemoryError, RuntimeError) as problem:
        if isinstance(problem, MemoryError) or "allocate" in str(problem):
            return end(2, TOO_LARGE)
        if flags.compile and isinstance(problem, torch._dynamo.exc.TorchDynamoException):
            return end(2, f"--compile true: {reason_of(problem)}; or leave it out")
        if not is_loss_of_a_replica(problem):
            raise
        return end_without_the_others(flags)
    finally:
        if dist.is_initialized():
            dist.destroy_process_group()
    return 0


def end_without_the_others(flags: argparse.Namespace) -> int:
    """Say that a replica is lost, and return the exit code that starts the job again, if it may."""
    lost = "another replica ended or cannot be reached"
    if flags.checkpoint_every:
        return end(RESTART, f"{lost}; started again, it resumes from its checkpoint")
    return end(1, f"{lost}, no model was written")


def end(code: int, why: str) -> int:
    """Say why no model was written, and return the exit code."""
    sys.stderr.write(f"train_nn.py: {why}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
