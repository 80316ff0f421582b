"""Train a small neural network that answers yes or no about each row of a table.

    python train_nn.py --train train_data.npz --val val_data.npz --epochs 200 --batch_size 64

The same file runs in a terminal, with %run in a notebook, under torchrun, on Vertex AI and on
SageMaker. Several replicas (processes, one for each GPU or machine) train one model: each computes
the gradients of its own rows, all of them sum their gradients in every step, and the first one
prints and writes. With --parallelism model they share the layers instead of the rows.

Reads   --train: an npz archive with X_train (rows, features) and y_train (rows,), labels 0 or 1,
        as numpy.savez writes it; the features should be scaled. --val: the same with X_val, y_val
Writes  to --model_dir: model.pt, history.csv, training.log and, if the training archive says how
        the features were made, preparation.json; beside them a copy of this script, which defines
        the network: serve_nn.py answers requests with the two. metrics.json comes last, so a new
        one means that the others are complete
Trains  for 1,000 epochs at most, all rows in one step, until 50 epochs have brought no gain on the
        validation rows; then it keeps the best weights. --help lists the flags and their defaults
Exits   with 0 when the model is written; with 2 and one sentence for what you can fix; with 1 if
        another replica is lost (134 if there are checkpoints: a service then starts the job again);
        with 130 after Ctrl-C

--train and --val may be a file, a folder or a pattern of several archives; folders and files may be
on a disk, or in a bucket as gs:// or s3:// URIs. Sections 1 to 3 show how it trains. To use it for
your own work, change the functions of section 1.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import importlib.util
import io
import json
import math
import os
import signal
import sys
import time
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, cast

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    import hypertune
    from torch.utils.tensorboard import SummaryWriter


# ---- 1. The network, its loss and its optimizer: change these for your own work ------------------
# In these functions, y is float32 and has the shape (rows, 1); so have the network's outputs.
LABELS = (0, 1)  # what y may hold; () for any number
SCORE = "accuracy"  # what the mean of score() is called in the log, the files and the tables


def build_model(features: int, hidden: Sequence[int], seed: int) -> nn.Module:
    """Return linear layers with ReLU between them; the output is a logit: above 0 means yes."""
    torch.manual_seed(seed)  # every replica starts with the same weights
    layers: list[nn.Module] = []
    inputs = features
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    layers.append(nn.Linear(inputs, 1))
    return nn.Sequential(*layers)


def loss_of_each_row(outputs: Tensor, y: Tensor) -> Tensor:
    """Return one loss for each row; the script takes the mean over all rows in the batch."""
    return functional.binary_cross_entropy_with_logits(outputs, y, reduction="none")


def score(outputs: Tensor, y: Tensor) -> Tensor:
    """Return 1 for each row in which the model is right, else 0; their mean is the accuracy."""
    return ((outputs > 0) == (y > 0.5)).float()


def build_optimizer(weights: Sequence[nn.Parameter], learning_rate: float) -> torch.optim.Optimizer:
    """Return Adam, which moves each weight against its gradient, so that the loss falls."""
    fused = weights[0].device.type in ("cpu", "cuda")  # faster: one call moves all weights
    return torch.optim.Adam(weights, lr=learning_rate, fused=fused)


def learning_rate_at(epoch: int, epochs: int, learning_rate: float) -> float:
    """Return the learning rate of an epoch, counted from 1 to epochs; here it is constant."""
    return learning_rate


# ---- 2. How it trains ----------------------------------------------------------------------------
# A Table holds this replica's rows of the training or validation table, and knows how many rows all
# replicas have together. A Run holds the flags, the tables, the network, and how far it has come.
def train_one_epoch(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    table: Table,
    *,
    batch_size: int,
    shuffle: torch.Generator,
) -> float:
    """Take a step for each batch of the training rows; return their mean loss on the way."""
    model.train()  # layers such as dropout behave differently from model.eval()
    total = torch.zeros((), device=table.X.device)
    for batch in table.batches(batch_size, shuffle):
        optimizer.zero_grad()  # forget the gradients of the last step
        for X, y in batch.pieces:  # one piece, unless the table is larger than memory
            loss_sum = loss_of_each_row(model(X), y).sum()
            (loss_sum / batch.size).backward()  # adds to the gradient of each weight
            total += loss_sum.detach()
        add_up_gradients(model, table.replicas)  # now they are those of the batch's mean loss
        optimizer.step()  # moves each weight by its gradient
    average_buffers(model, table.replicas)  # the running means of batch normalization
    add_up(total, table.replicas)
    return total.item() / table.rows


@torch.no_grad()
def evaluate(model: nn.Module, table: Table) -> tuple[float, float]:
    """Return the mean loss on a table's rows, and their mean score."""
    model.eval()
    sums = torch.zeros(2, device=table.X.device)
    for X, y in table.pieces():
        outputs = model(X)
        loss_sum = loss_of_each_row(outputs, y).sum()
        score_sum = score(outputs, y).sum()
        sums += torch.stack([loss_sum, score_sum])
    add_up(sums, table.replicas)
    total_loss, total_score = sums.tolist()
    return total_loss / table.rows, total_score / table.rows


def fit(run: Run, reports: Reports) -> None:
    """Train until the epochs or the patience run out.

    The weights with the lowest validation loss are loaded at the end, if the flags say so.
    """
    flags = run.flags
    seconds_before = run.history[-1].seconds if run.history else 0  # if the run was resumed
    begun = time.perf_counter() - seconds_before
    for epoch in range(len(run.history) + 1, flags.epochs + 1):
        if run.is_out_of_patience():
            break
        for group in run.optimizer.param_groups:
            group["lr"] = learning_rate_at(epoch, flags.epochs, flags.learning_rate)
        loss = train_one_epoch(
            run.model, run.optimizer, run.train, batch_size=run.batch_size, shuffle=run.shuffle
        )
        val_loss, val_score = evaluate(run.model, run.val)
        require(math.isfinite(val_loss), f"no finite loss in epoch {epoch}; lower --learning_rate")
        run.history.append(Epoch(epoch, loss, val_loss, val_score, time.perf_counter() - begun))
        if val_loss < run.best_loss - flags.min_delta:
            run.best_loss, run.best_epoch = val_loss, epoch
            run.best_weights = copy_of(run.model.state_dict())
        reports.after_epoch(run)
        if flags.checkpoint_every and epoch % flags.checkpoint_every == 0:
            save_checkpoint(run)
    if run.is_out_of_patience():
        run.say(f"stopped: no better validation loss for {flags.patience} epochs")
    if flags.restore_best and run.best_weights:
        run.model.load_state_dict(run.best_weights)


# ---- 3. The whole run ----------------------------------------------------------------------------
def start_run(
    flags: argparse.Namespace, replica: Replica, device: torch.device, *, train: Table, val: Table
) -> Run:
    """Build the network and its optimizer."""
    model = build_model(train.X.shape[1], flags.hidden, flags.seed)
    if flags.parallelism == "model":
        model = share_layers(model, replica)
    model = model.to(device)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = build_optimizer(weights, flags.learning_rate)
    run = Run(flags, replica, device, train=train, val=val, model=model, optimizer=optimizer)
    set_up_device(run)
    seed_random_numbers(run)  # for dropout: each replica draws its own
    return run


def train_model(flags: argparse.Namespace, replica: Replica) -> None:
    """Read the tables, train the network, write the results."""
    begun = time.perf_counter()
    device = choose_device(flags.device)
    join(replica, device)
    joined = time.perf_counter()
    train, val = read_tables(flags, replica, device)
    seconds = {"start_up": joined - begun, "data": time.perf_counter() - joined}
    run = start_run(flags, replica, device, train=train, val=val)
    introduce(run)
    require_one_value_for_each_row(run)
    require_writable_folders(run)
    if flags.checkpoint_every:
        resume(run)
    reports = Reports(run)
    fit(run, reports)
    loss, mean_score = evaluate(run.model, run.val)  # once more, with the weights that are kept
    write_results(run, loss, mean_score, seconds=seconds)
    reports.end(run, loss, mean_score)
    if flags.checkpoint_every:
        delete_checkpoint(run)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, and return the exit code; report in one sentence what you can fix."""
    flags = parse_flags(arguments)
    allow_imports_from_this_folder()
    try:
        replica = find_replicas(os.environ)
        gpus = count_gpus(flags.device)
        if gpus > 1 and "LOCAL_RANK" not in os.environ:  # else torchrun has started this process
            words = sys.argv[1:] if arguments is None else arguments
            return start_one_process_for_each_gpu(gpus, replica, flags, arguments=words)
        with callers_settings():
            train_model(flags, replica)
    except (Refused, KeyboardInterrupt, MemoryError, RuntimeError, ValueError) as problem:
        return explain(problem, flags)  # raises again what it does not know
    finally:
        leave_group()
    return 0


# ==== What this is built on: you need not read on to know how it trains ===========================
# ---- 4. The run so far ---------------------------------------------------------------------------
class Epoch(NamedTuple):
    """A line of history.csv."""

    epoch: int
    loss: float
    val_loss: float
    val_score: float
    seconds: float


class Run:
    """All that a training works with, and how far it has come."""

    def __init__(
        self,
        flags: argparse.Namespace,
        replica: Replica,
        device: torch.device,
        *,
        train: Table,
        val: Table,
        model: nn.Module,
        optimizer: torch.optim.Optimizer,
    ) -> None:
        """Begin before the first epoch."""
        self.flags, self.replica, self.device = flags, replica, device
        self.train, self.val = train, val
        self.model, self.optimizer = model, optimizer
        self.shuffle = torch.Generator().manual_seed(flags.seed)  # for the order of the rows
        self.history: list[Epoch] = []
        self.best_loss, self.best_epoch = math.inf, 0
        self.best_weights: dict[str, Tensor] = {}
        self.resumed: list[int] = []  # epochs in which a checkpoint was loaded
        self.log: list[str] = []  # the lines of training.log
        self.code = own_code(flags.model_dir)  # now: it may be edited while the training runs
        self.failures: set[str] = set()  # what has failed and has been reported

    @property
    def shares_layers(self) -> bool:
        """Return whether the replicas share the network's layers and not the table's rows."""
        return self.train.replicas < self.replica.size

    @property
    def batch_size(self) -> int:
        """Return the rows of a batch, of all replicas together."""
        rows: int = self.flags.batch_size or self.train.rows
        return min(rows, self.train.rows)

    def say(self, line: str) -> None:
        """Print a line and keep it for training.log; only the first replica does."""
        if self.replica.rank == 0:
            self.log.append(line)
            print(line, flush=True)

    @contextlib.contextmanager
    def warn_if_it_fails(self, what: str) -> Iterator[None]:
        """Report once what fails, and continue: a failed report must not end the training."""
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
    features, weights = run.train.X.shape[1], count_weights(run.model)
    run.say(
        f"{run.train.rows} rows, {features} features, {weights} weights, "
        f"{steps} {'step' if steps == 1 else 'steps'} an epoch, on {run.device}"
    )
    if run.flags.unknown:
        run.say(f"ignored, not flags of this script: {' '.join(run.flags.unknown)}")


def count_weights(model: nn.Module) -> int:
    """Return how many numbers the training changes."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def copy_of(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return weights that the next step does not change."""
    return {name: weight.clone() for name, weight in weights.items()}


# ---- 5. The table --------------------------------------------------------------------------------
class Batch(NamedTuple):
    """What a replica trains on in one step."""

    pieces: Iterable[tuple[Tensor, Tensor]]  # X and y of this replica's rows
    size: int  # the rows of all replicas together


class Table(NamedTuple):
    """One replica's rows of the training or validation table, and facts about the whole table."""

    X: Tensor  # (own rows, features), float32
    y: Tensor  # (own rows, 1), float32
    own: range  # which rows of the whole table these are
    rows: int  # of the whole table
    replicas: int  # that share the rows out
    preparation: str  # how the features were made, as JSON; "" if the archive does not say
    digest: str  # of the whole content

    def batches(self, batch_size: int, shuffle: torch.Generator) -> Iterator[Batch]:
        """Yield the batches of an epoch, in which each row takes part once."""
        if batch_size >= self.rows:
            yield Batch(self.pieces(), self.rows)
            return
        order = torch.randperm(self.rows, generator=shuffle)  # the same on all replicas
        is_own = (order >= self.own.start) & (order < self.own.stop)
        own = (order[is_own] - self.own.start).to(self.X.device)
        own_in_batch = [int(batch.sum()) for batch in is_own.split(batch_size)]
        X, y = self.X[own].split(own_in_batch), self.y[own].split(own_in_batch)
        for X_batch, y_batch, batch in zip(X, y, order.split(batch_size), strict=True):
            yield Batch(as_pieces(X_batch, y_batch), len(batch))

    def pieces(self) -> Iterable[tuple[Tensor, Tensor]]:
        """Return X and y of all own rows: here in one piece, as they are all in memory."""
        return as_pieces(self.X, self.y)

    def rows_of(self, rank: int) -> list[range]:
        """Return which rows of the whole table a replica has."""
        return [own_range(self.rows, rank, self.replicas)]


def as_pieces(X: Tensor, y: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Return the rows as one piece; none if another replica has all rows of this batch."""
    return [(X, y)] if len(X) > 0 else []


def own_range(rows: int, rank: int, replicas: int) -> range:
    """Return a replica's rows: those of all replicas are disjoint, and together the whole table."""
    return range(rows * rank // replicas, rows * (rank + 1) // replicas)


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
        checksum = zlib.crc32(content)
        require_same_on_all([checksum, len(content)])
    own = own_range(len(X), rank, replicas)
    return Table(
        X=torch.from_numpy(X[own.start : own.stop]).to(device),
        y=torch.from_numpy(y[own.start : own.stop]).to(device),
        own=own,
        rows=len(X),
        replicas=replicas,
        preparation=preparation,
        digest=f"{len(content)} {checksum:08x}",
    )


def require_same_on_all(facts: Sequence[int]) -> None:
    """Refuse a file of which each machine has another one."""
    require(
        all(other == list(facts) for other in gather(facts)),
        "the machines have different files; if each has a part of the table, name the folder",
    )


def read_archive(content: bytes, part: str) -> tuple[np.ndarray, np.ndarray, str]:
    """Return X (rows, features), y (rows, 1) and the preparation, or refuse the archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        require(file.testzip() is None, "it is damaged; write it again with numpy.savez")
    archive = np.load(io.BytesIO(content), allow_pickle=False)  # a pickle could run code
    for name in (f"X_{part}", f"y_{part}"):
        require(name in archive, f"there is no array {name}; name the arrays in numpy.savez")
    y = archive[f"y_{part}"]
    require(
        y.dtype.kind not in "US",
        f"y_{part} holds words; number them from 0, and set LABELS in a copy of the script",
    )
    with np.errstate(over="ignore"):  # a number too large for float32 becomes infinite
        X = archive[f"X_{part}"].astype(np.float32, casting="same_kind")
        y = y.astype(np.float32, casting="same_kind")
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
        require(
            bool(np.isin(y, LABELS).all()),
            f"y_{part} has labels other than {known}; in a copy of the script, set LABELS to yours "
            "from 0 on and give the network an output for each, or set it to () to predict numbers",
        )
    require(bool(np.isfinite(y).all()), f"y_{part} has missing or infinite values; drop the rows")
    bad = np.argwhere(~np.isfinite(X))
    if len(bad) > 0:
        row, column = bad[0]
        raise Refused(
            f"X_{part} has {len(bad)} missing or infinite values, first in row {row}, "
            f"column {column} (from 0); fill in or drop the rows"
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


# ---- 6. Files, and objects in buckets ------------------------------------------------------------
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


def split_uri(uri: str) -> tuple[str, str, str]:
    """Return the scheme (gs or s3), the bucket and the object's name of a URI."""
    scheme, _, rest = uri.partition("://")
    bucket, _, name = rest.partition("/")
    require(scheme in ("gs", "s3"), f"{scheme}:// is unknown; give a file, gs:// or s3://")
    require(bucket != "", f"this names no bucket; write {scheme}://bucket/name")
    return scheme, bucket, name


def local_path(path: str) -> str:
    """Return a gs:// URI as a file's path if its bucket is mounted, as in Vertex AI's jobs."""
    bucket, _, name = path.removeprefix("gs://").partition("/")
    if path.startswith("gs://") and Path("/gcs", bucket).is_dir():
        return str(Path("/gcs", bucket, name))
    return path


def within(folder: str, name: str) -> str:
    """Return the path or URI of a file in a folder."""
    return f"{folder.rstrip('/')}/{name}"


# ---- 7. Replicas ---------------------------------------------------------------------------------
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


def leave_group() -> None:
    """Leave the group of replicas, if there is one."""
    if dist.is_initialized():
        dist.destroy_process_group()


# The tensors of the newest messages are kept. Otherwise a thread of gloo may be the last to hold
# one, and torch 2.4 can hang at the end: that thread waits for Python, and Python for the thread.
SENT: deque[list[Tensor]] = deque(maxlen=16)


def add_up(tensor: Tensor, replicas: int) -> None:
    """Replace a tensor by its sum over the replicas, which has the same bits on each of them."""
    if replicas == 1:
        return
    total = tensor if tensor.is_cuda else tensor.cpu()  # NCCL adds on the GPU, gloo on the CPU
    SENT.append([total])
    wait_for(dist.all_reduce(total, async_op=True))
    tensor.copy_(total)


def add_up_gradients(model: nn.Module, replicas: int) -> None:
    """Give each weight the sum of its gradients on all replicas, in one message.

    The sum is the gradient of the mean loss over all rows of the batch.
    """
    if replicas == 1:
        return
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    gradients = []
    for weight in weights:
        if weight.grad is None:  # this replica has no row of the batch
            weight.grad = torch.zeros_like(weight)
        gradients.append(weight.grad.reshape(-1))
    total = torch.cat(gradients)
    add_up(total, replicas)
    sizes = [weight.numel() for weight in weights]
    for weight, gradient in zip(weights, total.split(sizes), strict=True):
        weight.grad = gradient.view_as(weight)


def average_buffers(model: nn.Module, replicas: int) -> None:
    """Give all replicas the mean of their buffers, such as those of batch normalization."""
    if replicas == 1:
        return
    for buffer in model.buffers():
        if buffer.is_floating_point():
            add_up(buffer, replicas)
            buffer /= replicas


def gather(numbers: Sequence[int]) -> list[list[int]]:
    """Return the whole numbers of every replica, by rank; all of them give as many."""
    if not dist.is_initialized():
        return [list(numbers)]
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    own = torch.tensor(numbers, dtype=torch.int64, device=device)
    found = [torch.zeros_like(own) for _ in range(dist.get_world_size())]
    SENT.append([own, *found])
    wait_for(dist.all_gather(found, own, async_op=True))
    return [each.tolist() for each in found]


class MessageIsStuck(RuntimeError):
    """Another replica has ended, and a thread of gloo still waits to send it a message."""


def wait_for(message: dist.Work) -> None:
    """Wait until a message has arrived, however long another replica is stopped.

    If a connection breaks while gloo is sending over it, gloo does not notice and waits for half
    an hour. Any new message over that connection fails immediately, which shows that it is broken.
    """
    if dist.get_backend() == "nccl":  # it notices by itself
        message.wait()
        return
    while not message.is_completed():
        with contextlib.suppress(RuntimeError):  # the 2 seconds are over, or the message failed
            message.wait(timedelta(seconds=2))
        if not message.is_completed():
            check_connections()
    message.wait()  # raises the error of a message that failed


def check_connections() -> None:
    """Raise MessageIsStuck if the connection to another replica is broken."""
    others = set(range(dist.get_world_size())) - {dist.get_rank()}
    try:
        for other in others:
            dist.irecv(torch.empty(1), other, tag=1)  # no replica ever sends this message
    except RuntimeError as problem:
        raise MessageIsStuck(reason_of(problem)) from None


def share_layers(model: nn.Module, replica: Replica) -> nn.Module:
    """Return the network with this replica's parts of its layers."""
    if replica.size == 1:
        return model
    with refuse_with("--parallelism model", "choose other widths in --hidden"):
        import shared_layers
    try:
        shared: nn.Module = shared_layers.share(model, replica.rank, replica.size)
    except ValueError as problem:  # it says all that there is to say
        raise Refused(str(problem)) from None
    return shared


def start_one_process_for_each_gpu(
    gpus: int, replica: Replica, flags: argparse.Namespace, *, arguments: Sequence[str]
) -> int:
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
        code = torchrun([*words, __file__, *arguments])
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


# ---- 8. Checkpoints ------------------------------------------------------------------------------
CHECKPOINT = "checkpoint.pt"
OF_THIS_DEVICE = ("fused", "capturable", "foreach")  # how an optimizer computes its steps


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
    """Save all that the next epoch depends on; a failure is reported, and the training continues.

    The file is written under another name and then renamed, so a kill leaves the old one or the
    new one.
    """
    weights, best, optimizer = whole_layers(run)
    seed_random_numbers(run)
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
    folder = run.flags.checkpoint_dir
    with run.warn_if_it_fails(f"no checkpoint, --checkpoint_dir {folder}"):
        write_files(folder, {CHECKPOINT: file.getvalue()})


def seed_random_numbers(run: Run) -> None:
    """Seed dropout's random numbers after each checkpoint, so that a resumed run draws the same."""
    # Primes keep seeds and epochs apart.
    number = run.flags.seed * 1_000_003 + len(run.history) * 1_009
    if not run.shares_layers:  # replicas that share layers draw the same numbers
        number += run.replica.rank
    torch.manual_seed(number % 2**63)


def resume(run: Run) -> None:
    """Load the checkpoint, if there is one; refuse that of another training."""
    folder = run.flags.checkpoint_dir
    advice = "its checkpoint is not one of this script; delete it, or name another folder"
    with refuse_with(f"--checkpoint_dir {folder}", advice):
        content = receive_from_first(read_checkpoint(folder) if run.replica.rank == 0 else b"")
        if not content:
            return
        with zipfile.ZipFile(io.BytesIO(content)) as file:
            require(
                file.testzip() is None,
                f"{CHECKPOINT} is damaged; delete it, or name another folder",
            )
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        require_same_training(run, state)
        run.best_loss, run.best_epoch, best = state["best"]
        take_layers(run, state["model"], best, optimizer=state["optimizer"])
        run.shuffle.set_state(state["shuffle"])
        run.history = [Epoch(*line) for line in state["history"]]
        run.resumed = [*state["resumed"], len(run.history) + 1]
        run.log = list(state["log"])
    seed_random_numbers(run)
    run.say(f"resumes from a checkpoint, in epoch {len(run.history) + 1}")


def require_same_training(run: Run, state: Mapping[str, Any]) -> None:
    """Refuse the checkpoint of a training that was another one, or that is further."""
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


def read_checkpoint(folder: str) -> bytes:
    """Return the content of the checkpoint, b"" if there is none."""
    try:
        content = read_bytes(within(folder, CHECKPOINT))
    except FileNotFoundError:
        return b""
    require(len(content) > 0, f"{CHECKPOINT} is empty; delete it, or name another folder")
    return content


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
    wait_for(dist.broadcast(sent, 0, async_op=True))
    return bytes(sent.cpu().numpy())


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
    run: Run, weights: dict[str, Tensor], best: dict[str, Tensor], *, optimizer: dict[str, Any]
) -> None:
    """Load the weights, the best weights and the optimizer's state of a checkpoint."""
    if run.shares_layers:
        import shared_layers

        weights = shared_layers.part(run.model, weights)
        best = shared_layers.part(run.model, best)
        optimizer = shared_layers.part_optimizer(run.model, optimizer)
    run.model.load_state_dict(weights)
    groups = zip(optimizer["param_groups"], run.optimizer.param_groups, strict=True)
    for saved, own in groups:
        saved.update({name: own[name] for name in OF_THIS_DEVICE if name in own})
    run.optimizer.load_state_dict(optimizer)
    run.best_weights = best


def delete_checkpoint(run: Run) -> None:
    """Delete the checkpoint of a training whose results are written, and its own folder."""
    if run.replica.rank > 0:
        return
    folder: str = run.flags.checkpoint_dir
    with run.warn_if_it_fails(f"--checkpoint_dir {folder}"):
        delete(within(folder, CHECKPOINT))
        delete(within(folder, f"{CHECKPOINT}.part"))  # half written when an earlier run was killed
        is_own = folder == within(run.flags.model_dir, "checkpoints")
        if is_own and "://" not in local_path(folder):
            with contextlib.suppress(OSError):  # the folder holds other files
                Path(local_path(folder)).rmdir()


# ---- 9. Reports ----------------------------------------------------------------------------------
class Reports:
    """What the first replica reports: lines, history.csv, TensorBoard's curves, tuning metrics."""

    def __init__(self, run: Run) -> None:
        """Open what there is to report to, and report the epochs before a checkpoint again."""
        self.last = time.perf_counter()
        self.tuner = open_tuner(run) if run.replica.rank == 0 else None
        self.board = open_board(run) if run.replica.rank == 0 else None
        for line in run.history:
            self.draw(run, line)
            if is_tenth(line.epoch, run.flags.epochs):
                self.tell_tuner(run, line.epoch, loss=line.val_loss, mean_score=line.val_score)

    def after_epoch(self, run: Run) -> None:
        """Report the last epoch: the first one, ten in each run, and one every two seconds."""
        if run.replica.rank > 0:
            return
        line, is_last = run.history[-1], run.is_out_of_patience()
        self.draw(run, line)
        is_long_ago = time.perf_counter() - self.last > 2
        if not (is_long_ago or is_last or is_tenth(line.epoch, run.flags.epochs)):
            return
        run.say(
            f"epoch {line.epoch:5d}  loss {line.loss:.4f}  validation loss {line.val_loss:.4f}  "
            f"{SCORE} {line.val_score:.4f}  {line.seconds:.1f} s"
        )
        # The tuner keeps the latest hundred lines only; end() reports the model that is written.
        if is_tenth(line.epoch, run.flags.epochs) and not is_last and line.epoch < run.flags.epochs:
            self.tell_tuner(run, line.epoch, loss=line.val_loss, mean_score=line.val_score)
        if line.seconds > 2:  # long enough that somebody watches
            self.write_history(run)
        self.last = time.perf_counter()

    def draw(self, run: Run, line: Epoch) -> None:
        """Add an epoch to TensorBoard's curves."""
        if self.board:
            with run.warn_if_it_fails(f"--tensorboard_dir {run.flags.tensorboard_dir}"):
                self.board.add_scalar("loss", line.loss, line.epoch)
                self.board.add_scalar("val_loss", line.val_loss, line.epoch)
                self.board.add_scalar(f"val_{SCORE}", line.val_score, line.epoch)

    def tell_tuner(self, run: Run, epoch: int, *, loss: float, mean_score: float) -> None:
        """Report to the tuner, if this is one of its trials."""
        if self.tuner:
            with run.warn_if_it_fails("a metric was not reported to the tuner"):
                report = self.tuner.report_hyperparameter_tuning_metric
                report("validation_loss", loss, epoch)
                report(f"validation_{SCORE}", mean_score, epoch)

    def write_history(self, run: Run) -> None:
        """Write the history so far, for those who watch the run."""
        folder = run.flags.model_dir
        with run.warn_if_it_fails(f"--model_dir {folder}"):
            delete(within(folder, "metrics.json"))  # that of an earlier run
            write_files(folder, {"history.csv": as_csv(run.history)})

    def end(self, run: Run, loss: float, mean_score: float) -> None:
        """Report the model that is written."""
        self.tell_tuner(run, len(run.history), loss=loss, mean_score=mean_score)
        if self.board:
            flags = {name: vars(run.flags)[name] for name in HYPERPARAMETERS}
            flags["hidden"] = ",".join(str(width) for width in run.flags.hidden)
            result = {"model/loss": loss, f"model/{SCORE}": mean_score}
            with run.warn_if_it_fails(f"--tensorboard_dir {run.flags.tensorboard_dir}"):
                self.board.flush()
                self.board.add_hparams(flags, result, run_name=".")  # in a file beside the curves
                self.board.close()


def is_tenth(epoch: int, epochs: int) -> bool:
    """Return whether this is the first epoch, or one of ten that are spread over the whole run."""
    return epoch == 1 or epoch * 10 // epochs > (epoch - 1) * 10 // epochs


def is_trial(env: Mapping[str, str]) -> bool:
    """Return whether this is a trial of a hyperparameter tuning job of Vertex AI."""
    if env.get("CLOUD_ML_TRIAL_ID") or env.get("CLOUD_ML_HP_METRIC_FILE"):
        return True
    spec = json.loads(env.get("CLUSTER_SPEC") or "{}")
    return bool(spec.get("task", {}).get("trial"))


def open_tuner(run: Run) -> hypertune.HyperTune | None:
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


def open_board(run: Run) -> SummaryWriter | None:
    """Return what writes for TensorBoard; without the package, say so once."""
    if not run.flags.tensorboard_dir:
        return None
    folder = local_path(run.flags.tensorboard_dir)
    named_by_service = run.flags.tensorboard_dir == os.environ.get("AIP_TENSORBOARD_LOG_DIR")
    if "://" in folder and named_by_service:
        run.say(f"nothing is written for TensorBoard: {folder} is not mounted here")
        return None
    with refuse_with(f"--tensorboard_dir {run.flags.tensorboard_dir}", "name another folder"):
        require("://" not in folder, "this bucket is not mounted here; name a folder")
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as problem:
            why = reason_of(problem)
            run.say(f"nothing is written for TensorBoard ({why}); pip install tensorboard")
            return None
        # purge_step: TensorBoard discards what an earlier run wrote of the epochs from 1 on.
        board = SummaryWriter(folder, purge_step=1, flush_secs=2)
        board.add_text("network", f"```\n{run.model}\n```")
        board.flush()  # refused now, not after the training
    return board


# ---- 10. Results ---------------------------------------------------------------------------------
def write_results(
    run: Run, loss: float, mean_score: float, *, seconds: Mapping[str, float]
) -> None:
    """Write the results, metrics.json last, and leave no preparation of an earlier model."""
    files = collect_results(run, loss, mean_score, seconds=seconds)
    if run.replica.rank > 0:
        return
    folder = run.flags.model_dir
    with refuse_with(f"--model_dir {folder}", "name another folder"):
        write_files(folder, {name: content for name, content in files.items() if content})
        if not files["preparation.json"]:
            delete(within(folder, "preparation.json"))
    for line in last_lines(folder, loss, mean_score):
        run.say(line)


def collect_results(
    run: Run, loss: float, mean_score: float, *, seconds: Mapping[str, float]
) -> dict[str, bytes]:
    """Return the files to write, by name; all replicas take part."""
    replicas = describe_replicas(run)
    run.optimizer.zero_grad()
    del run.optimizer, run.best_weights  # whole layers take this memory now
    saved = {
        "model": copy_weights(run),
        "features": run.train.X.shape[1],
        "hidden": run.flags.hidden,
        "preparation": run.train.preparation,
    }
    model = io.BytesIO()
    torch.save(saved, model)
    metrics = {
        SCORE: mean_score,
        "loss": loss,
        "score": SCORE,
        "device": str(run.device),
        "threads": torch.get_num_threads(),
        "seconds": {**seconds, "training": run.history[-1].seconds},
        "epochs": {"last": len(run.history), "best": run.best_epoch, "resumed": run.resumed},
        "world_size": run.replica.size,
        "replicas": replicas,
        "configuration": vars(run.flags),
        "versions": {"python": sys.version.split()[0], "torch": torch.__version__},
    }
    log = [*run.log, *last_lines(run.flags.model_dir, loss, mean_score)]
    return {
        **run.code,
        "model.pt": model.getvalue(),
        "preparation.json": run.train.preparation.encode(),
        "history.csv": as_csv(run.history),
        "training.log": "".join(f"{line}\n" for line in log).encode(),
        "metrics.json": json.dumps(metrics, indent=2).encode(),
    }


def as_csv(history: Sequence[Epoch]) -> bytes:
    """Return the lines of history.csv."""
    text = io.StringIO()
    names = [name.replace("score", SCORE) for name in Epoch._fields]
    csv.writer(text, lineterminator="\n").writerows([names, *history])
    return text.getvalue().encode()


def own_code(model_dir: str) -> dict[str, bytes]:
    """Return what defines the network: this script, and what it has imported from its folder.

    With the program that answers requests, if it is there, for it may be a changed copy as well.
    """
    script = Path(__file__).resolve()
    is_there = Path(local_path(model_dir)).resolve() == script.parent
    if is_there or not script.is_file():  # it is no file if a zip archive was started
        return {}
    code = {"train_nn.py": script.read_bytes()}
    for file in sorted(script.parent.glob("*.py")):
        is_package = file.name == "__init__.py"
        if file != script and not is_package and (is_imported(file) or file.name == "serve_nn.py"):
            code[file.name] = file.read_bytes()
    return code


def is_imported(file: Path) -> bool:
    """Return whether this process has imported the file."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and Path(path).name == file.name and Path(path).resolve() == file:
            return True
    return False


def last_lines(model_dir: str, loss: float, mean_score: float) -> list[str]:
    """Return the last lines printed, in which SageMaker looks for its metrics."""
    return [
        f"wrote model.pt, metrics.json, history.csv and training.log to {model_dir}",
        f"validation:{SCORE} = {mean_score:.4f}",
        f"validation:loss = {loss:.4f}",
    ]


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


# ---- 11. Flags -----------------------------------------------------------------------------------
def parse_number(text: str) -> float:
    """Return the number in a text, NaN if there is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def number(text: str) -> float:
    """Read a number from 0 up."""
    value = parse_number(text)
    if not 0 <= value <= 2**53:
        raise argparse.ArgumentTypeError(f"needs a number from 0 up, not {text!r}")
    return value


def whole_number(text: str) -> int:
    """Read a whole number from 0 up; tuners write 64 as 64.0."""
    value = parse_number(text)
    if not 0 <= value <= 2**53 or value != int(value):
        raise argparse.ArgumentTypeError(f"needs a whole number from 0 up, not {text!r}")
    return int(value)


def count(text: str) -> int:
    """Read a whole number from 1 up."""
    value = parse_number(text)
    if not 1 <= value <= 2**53 or value != int(value):
        raise argparse.ArgumentTypeError(f"needs a whole number from 1 up, not {text!r}")
    return int(value)


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


# ---- 12. Devices ---------------------------------------------------------------------------------
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


def count_gpus(wanted: str) -> int:
    """Return how many CUDA GPUs of this machine the flags allow."""
    return torch.cuda.device_count() if wanted in ("auto", "cuda") else 0


def set_up_device(run: Run) -> None:
    """Choose the number of threads, and prepare what lower precision and XLA need."""
    rows = run.batch_size // run.train.replicas
    torch.set_num_threads(choose_threads(rows, count_weights(run.model)))
    if run.flags.precision == "tf32":
        compute_in_tf32(run.device)
    if run.flags.precision == "bfloat16":
        compute_in_bfloat16(run.model, run.device)
    if run.device.type == "xla":
        prepare_for_xla(run.optimizer)


def choose_threads(rows: int, weights: int) -> int:
    """Return one CPU thread for each 50 million operations of a step (tools/benchmarks/)."""
    operations = 6 * rows * weights  # forward a product and a sum for each, backward twice that
    return max(1, min(torch.get_num_threads(), operations // 50_000_000))


def compute_in_tf32(device: torch.device) -> None:
    """Let a GPU multiply float32 numbers as TF32."""
    has_tf32 = device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)
    require(
        has_tf32,
        "--precision tf32: only CUDA GPUs from Ampere (A100, L4) on have it; choose float32",
    )
    torch.set_float32_matmul_precision("high")


def compute_in_bfloat16(model: nn.Module, device: torch.device) -> None:
    """Let a model multiply in bfloat16; its outputs are float32, and so is the loss."""
    forward = model.forward

    def forward_in_bfloat16(X: Tensor) -> Tensor:
        with torch.autocast(device.type, torch.bfloat16):
            outputs: Tensor = forward(X)
        return outputs.float()

    model.forward = forward_in_bfloat16


def prepare_for_xla(optimizer: torch.optim.Optimizer) -> None:
    """Let XLA compute after each step what it has put off; other devices compute by themselves."""
    import torch_xla

    for group in optimizer.param_groups:
        if "capturable" in group:  # the number of steps in a tensor: else each one is compiled
            group["capturable"] = True

    def compute(*_: object) -> None:
        torch_xla.sync()

    optimizer.register_step_post_hook(compute)


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


# ---- 13. Refusals --------------------------------------------------------------------------------
class Refused(Exception):
    """An input cannot be used; the message says what, where and what to do."""


def require(condition: bool, message: str) -> None:
    """Refuse the input with this message unless the condition holds."""
    if not condition:
        raise Refused(message)


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


def require_one_value_for_each_row(run: Run) -> None:
    """Refuse a loss that is already a mean, for example: try the functions on a few rows."""
    first = next(iter(run.train.pieces()), None)
    if first is None:
        return
    X, y = first[0][:16], first[1][:16]
    run.model.eval()
    with torch.no_grad():
        outputs = run.model(X)
        for function in (loss_of_each_row, score):
            values = function(outputs, y).numel()
            require(
                values == len(X),
                f"{function.__name__}() returns {values} values for {len(X)} rows; "
                "return one for each row",
            )


def require_writable_folders(run: Run) -> None:
    """Refuse folders that cannot be written to, now and not after the training."""
    if run.replica.rank > 0:
        return
    require_writable("--model_dir", run.flags.model_dir)
    if run.flags.checkpoint_every:
        require_writable("--checkpoint_dir", run.flags.checkpoint_dir)


def require_writable(flag: str, folder: str) -> None:
    """Refuse a folder that cannot be written to, now and not after the training."""
    with refuse_with(f"{flag} {folder}", "name another folder"):
        write_files(folder, {"write-test": b""})
        delete(within(folder, "write-test"))


def is_loss_of_a_replica(problem: BaseException) -> bool:
    """Return whether an error says that another replica ended; gloo has no errors of its own."""
    if isinstance(problem, dist.DistError | MessageIsStuck):
        return True
    return isinstance(problem, RuntimeError) and "gloo" in str(problem)


TOO_LARGE = (
    "this network needs more memory than there is; choose smaller --hidden, or start several "
    "replicas with --parallelism model"
)
ONE_ROW = (
    "batch normalization needs two rows in every step of a replica, and the last step of an epoch "
    "has the rows that are left over; choose another --batch_size"
)
RESTART = 134  # Vertex AI starts a job that ends with this code again, up to three times


def explain(problem: BaseException, flags: argparse.Namespace) -> int:
    """Say in one sentence why no model was written, and return the exit code; or raise again."""
    if isinstance(problem, Refused):
        return end(2, str(problem))
    if isinstance(problem, KeyboardInterrupt):
        if "LOCAL_RANK" in os.environ:  # torchrun passes Ctrl-C on, after the terminal has sent it
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        return end(130, "interrupted, no model was written")
    if isinstance(problem, MemoryError) or "allocate" in str(problem):
        return end(2, TOO_LARGE)
    if "more than 1 value per channel" in str(problem):
        return end(2, ONE_ROW)
    if is_loss_of_a_replica(problem):
        code = end_without_the_others(flags)
        if isinstance(problem, MessageIsStuck):
            sys.stdout.flush()
            os._exit(code)  # Python's own end would wait for gloo's thread
        return code
    raise problem


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


def allow_imports_from_this_folder() -> None:
    """Let this file import those that may lie beside it."""
    beside = str(Path(__file__).resolve().parent)
    if beside not in sys.path:
        sys.path.append(beside)


if __name__ == "__main__":
    sys.exit(main())
