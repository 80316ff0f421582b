"""Train a small neural network that answers yes or no about each row of a table.

    python train_nn.py --train train_data.npz --val val_data.npz --epochs 200 --batch_size 64

Runs unchanged in a terminal, with %run in a notebook, under torchrun, on Vertex AI and SageMaker.
Reads   --train: npz archive with X_train (rows, features) and y_train (rows,), labels 0 or 1
        --val: the same with X_val and y_val
Writes  model.pt, history.csv, training.log and, if the training archive holds it, preparation.json
        to --model_dir; metrics.json comes last: once it is new, the results are complete
Exits   with 0 when the model is written; with 2 and one sentence when an input cannot be used; with
        1 when another replica is lost; with 130 after Ctrl-C; with 134 to be started again
Every path may be a gs:// or s3:// URI. Several replicas train one model: each computes gradients
of its own rows, all of them add the gradients up at every step, and replica 0 prints and writes.
"""

import argparse
import contextlib
import gc
import importlib.util
import io
import itertools
import json
import math
import os
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

STARTED = time.perf_counter()

class Refused(Exception):
    """An input cannot be used; the message says what, where and what to do."""

def require(condition: object, message: str) -> None:
    """Refuse the input with this message unless the condition holds."""
    if not condition:
        raise Refused(message)

def companion(name: str, purpose: str = "") -> Any:
    """Load a file that lies beside this one, or return None; refuse if a purpose needs it."""
    path, key = Path(__file__).resolve().with_name(f"{name}.py"), f"{__name__}_{name}"
    if not path.is_file():
        return require(not purpose, f"{purpose} needs {path.name}; send the folder training/, not "
                                    "one file alone")
    script = sys.modules[__name__]  # where it finds require() and what else both use
    if getattr(sys.modules.get(key), "story", None) is not script:
        spec: Any = importlib.util.spec_from_file_location(key, path)
        sys.modules[key] = module = importlib.util.module_from_spec(spec)
        vars(module)["story"] = script
        spec.loader.exec_module(module)
    return sys.modules[key]


# ---- flags ---------------------------------------------------------------------------------------
def number(low: int, cast: type, text: str) -> Any:
    """Convert to a number from `low` up; a whole one may be written 64.0, as tuners do."""
    with contextlib.suppress(ValueError):
        if low <= (value := float(text)) <= 2**53 and cast(value) == value:
            return cast(value)
    kind = "whole number" if cast is int else "number"
    raise argparse.ArgumentTypeError(f"needs a {kind} from {low} up, not {text!r}")

def parse_flags(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the flags; those that a service adds and this script does not know end in `unknown`."""
    parser: Any = argparse.ArgumentParser("train_nn.py", allow_abbrev=False,
                                          formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.error = lambda why: parser.exit(2, f"train_nn.py: {why}; --help lists the flags\n")
    flag, env, count = parser.add_argument, os.environ.get, partial(number, 1, int)
    whole, real = partial(number, 0, int), partial(number, 0, float)
    widths, truth = lambda text: [*map(count, text.split(","))], {"true": True, "false": False}
    for part in ("train", "val"):
        folder = env(f"SM_CHANNEL_{part.upper()}")  # on SageMaker
        files = [*map(str, Path(folder or os.devnull).glob("*.npz"))]
        flag(f"--{part}", required=not folder, default=files[0] if len(files) == 1 else folder,
             help=f"npz archive with X_{part} and y_{part}, or a folder or a pattern of several")
    flag("--epochs", type=count, default=1000, help="passes over the training rows, at most")
    flag("--learning_rate", type=real, default=0.001, help="how far a step moves the weights")
    flag("--batch_size", type=whole, default=0, help="rows per step; 0: all rows")
    flag("--hidden", type=widths, default=[64, 32], help="widths: 64,32")
    flag("--patience", type=whole, default=50, help="stop after N epochs without gain; 0: never")
    flag("--min_delta", type=real, default=0.0, help="smaller gains do not count")
    flag("--restore_best", type=lambda text: truth.get(text.lower(), text), choices=(True, False),
         default=True, help="keep the best weights, not the last")
    flag("--seed", type=whole, default=0, help="same seed, same machine: same model")
    flag("--device", default="auto", help="auto, cpu, cuda, mps or xla")
    flag("--precision", choices=("float32", "tf32", "bfloat16"), default="float32", help="on a GPU")
    flag("--parallelism", choices=("data", "model"), default="data", help="share rows, or layers")
    flag("--checkpoint_every", type=whole, default=0, help="epochs between checkpoints; 0: none")
    flag("--checkpoint_dir", default=env("AIP_CHECKPOINT_DIR"), help="folder for checkpoints")
    flag("--model_dir", default=env("AIP_MODEL_DIR") or env("SM_MODEL_DIR") or ".", help="results")
    flag("--tensorboard_dir", default=env("AIP_TENSORBOARD_LOG_DIR"), help="TensorBoard's events")
    flags, unknown = parser.parse_known_args(arguments)
    if unknown and not unknown[0].startswith("-"):
        parser.error(f"{unknown[0]!r} belongs to no flag")
    return argparse.Namespace(**vars(flags), unknown=unknown)


# ---- where am I ----------------------------------------------------------------------------------
def find_rank(env: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that torchrun would set, from those of Vertex AI or SageMaker."""
    spec, size, names = (env.get(name, "") for name in ("CLUSTER_SPEC", "WORLD_SIZE", "SM_HOSTS"))
    if "TORCHELASTIC_RUN_ID" in env:
        spec = ""  # torchrun, on Vertex AI: WORLD_SIZE counts its replicas, not the machines
    own: Any
    host: Any
    try:
        if spec:  # Vertex AI: the chief's pool, then the workers'
            cluster, task = (json.loads(spec)[name] for name in ("cluster", "task"))
            own, pools = (task["type"], task["index"]), ("workerpool0", "workerpool1")
            require(own[0] in pools or own[0] not in cluster,
                    f"this replica is in {own[0]}: this script has roles for {pools} only")
            hosts = [(pool, index) for pool in pools for index in range(len(cluster.get(pool, ())))]
            host, _, port = cluster["workerpool0"][0].rpartition(":")
        elif size:  # torchrun has set all; is RANK one of them?
            range(int(size)).index(int(env["RANK"]))
            return {}
        else:  # SageMaker: version 3 of its SDK sets SM_MASTER_ADDR, version 2 MASTER_ADDR
            hosts, own = sorted(json.loads(names or '[""]')), names and env["SM_CURRENT_HOST"]
            host = env.get("SM_MASTER_ADDR") or env.get("MASTER_ADDR") or hosts[0]
            port = env.get("SM_MASTER_PORT") or env.get("MASTER_PORT") or 7777
        if len(hosts) == 1:
            return {}
        found = range(2**16).index(int(port)), hosts.index(own), len(hosts), 0, host
    except (AttributeError, LookupError, TypeError, ValueError) as problem:
        name = "CLUSTER_SPEC" if spec else "WORLD_SIZE and RANK" if size else "SM_HOSTS"
        raise Refused(f"{name} cannot be used ({problem}); unset it to train alone") from None
    variables = ("MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")
    return dict(zip(variables, map(str, found), strict=True))

def begin() -> argparse.Namespace:
    """Read the flags before torch is imported, which takes a second."""
    flags = parse_flags()
    if launch := companion("launch"):
        launch.start(flags)  # it may start and watch replicas on this machine, and end with them
    return flags

FLAGS = begin() if __name__ == "__main__" else None
import numpy as np
import torch
import torch.distributed as dist
from torch.nn import Linear, Module, ReLU, Sequential
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.optim.adam import adam

if FLAGS and "IPython" not in sys.modules:
    gc.freeze()  # torch's many objects live to the end: collecting them takes a fifth of the time

def choose_device(wanted: str) -> torch.device:
    """Return the device to train on; `auto` takes the first of CUDA, TPU and Apple GPU."""
    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    here = {"cuda": cuda, "xla": importlib.util.find_spec("torch_xla"), "mps": mps, "cpu": True}
    usable = [name for name, there in here.items() if there]
    name = usable[0] if wanted == "auto" else wanted.lower()
    require(name in usable, f"--device {wanted}: here torch can use {' or '.join(usable)}; "
            + ("install torch_xla for it" if name == "xla" else "name one"))
    if name == "cuda":
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK") or 0))
    return importlib.import_module("torch_xla").device() if name == "xla" else torch.device(name)

def choose_threads(rows: int, weights: int) -> int:
    """Return one CPU thread for each 50 million operations of a step: see benchmarks/README.md."""
    return max(1, min(torch.get_num_threads(), 6 * rows * weights // 50_000_000))


# ---- replicas ------------------------------------------------------------------------------------
def join(device: torch.device) -> tuple[int, int]:
    """Form one group of all replicas; return this replica's rank and the world size."""
    os.environ.update(find_rank(os.environ))
    if int(os.environ.get("WORLD_SIZE") or 1) == 1:
        return 0, 1
    if network := os.environ.get("SM_NETWORK_INTERFACE_NAME"):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", network)  # else gloo takes the host name's
    form = getattr(companion("rendezvous"), "form_group", dist.init_process_group)
    form("nccl" if device.type == "cuda" else "gloo")
    return dist.get_rank(), dist.get_world_size()

def exchange(work: Callable[[], Any], about: str = "", advice: str = "") -> list[Any]:
    """Return what work() returns on each replica, by rank; what one refuses, all refuse."""
    try:
        answers = [[work(), ""]]
    except Exception as problem:  # noqa: BLE001 - storage clients and damaged files raise anything
        reason = getattr(problem, "strerror", "") or str(problem) or type(problem).__name__
        missing = "; install google-cloud-storage or boto3 with pip"
        advice = {Refused: "", ModuleNotFoundError: missing}.get(type(problem), advice)
        answers = [[None, f"{about}{reason.splitlines()[0]}{advice}"]]
    if dist.is_initialized():  # as JSON: a pickle could run code
        text, home = json.dumps(answers[0]), "cuda" if dist.get_backend() == "nccl" else "cpu"
        dist.all_reduce(longest := torch.tensor(len(text), device=home), dist.ReduceOp.MAX)
        padded = bytearray(text.ljust(int(longest)), "ascii")
        own = torch.frombuffer(padded, dtype=torch.uint8).to(home)
        dist.all_gather(found := [torch.empty_like(own) for _ in range(dist.get_world_size())], own)
        answers = [json.loads(bytes(each.tolist())) for each in found]
    for _, refusal in answers:
        require(not refusal, refusal)
    return [value for value, _ in answers]

def sum_over_replicas(tensor: torch.Tensor, replicas: int) -> torch.Tensor:
    """Add a tensor up over the replicas, in place and to the same bits on each."""
    if replicas > 1:
        total = tensor if tensor.is_cuda else tensor.cpu()  # where nccl or gloo adds
        dist.all_reduce(total)
        tensor.copy_(total)
    return tensor


# ---- files, and objects in buckets ---------------------------------------------------------------
def mounted(path: str) -> str:
    """Return a gs:// URI as a file's path where its bucket is mounted, as in Vertex AI's jobs."""
    file = Path("/gcs", path.removeprefix("gs://"))
    return str(file) if path.startswith("gs://") and Path(*file.parts[:3]).is_dir() else path

def find_object(uri: str) -> tuple[Callable[..., Any], ...]:
    """Return what reads, writes and deletes an object, and what tries a write without writing."""
    scheme, _, rest = uri.partition("://")
    bucket, _, name = rest.partition("/")
    require(scheme in ("gs", "s3"), f"{scheme}:// is unknown; give a file, gs:// or s3://")
    require(bucket, f"this names no bucket; write {scheme}://bucket/name")
    if scheme == "gs":
        from google.cloud.storage import Client

        blob = Client().bucket(bucket).blob(name)
        read, write, attempt = (blob.download_as_bytes, blob.upload_from_string,
                                blob.create_resumable_upload_session)
        return read, write, lambda: blob.exists() and blob.delete(), attempt
    import boto3

    item = boto3.resource("s3").Object(bucket, name)
    return (lambda: item.get()["Body"].read(), lambda body: item.put(Body=body), item.delete,
            lambda: item.initiate_multipart_upload().abort())

def write_files(folder: str, files: Mapping[str, bytes | None]) -> None:
    """Write files (on a disk: all of them, then rename them); delete those without content."""
    folder = mounted(folder.rstrip("/"))
    if "://" in folder:
        for name, content in files.items():
            _, write, delete, _ = find_object(f"{folder}/{name}")
            write(bytes(content)) if content is not None else delete()
        if not files:  # see whether it would work
            find_object(f"{folder}/metrics.json")[3]()
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    parts = {name: Path(folder, f"{name}.part") for name in files or ["metrics.json"]}
    try:
        for name, part in parts.items():
            with part.open("wb") as file:
                file.write(files.get(name) or b"")
                os.fsync(file.fileno())
        for name, content in files.items():
            final = Path(folder, name)
            parts[name].replace(final) if content is not None else final.unlink(True)
    finally:
        for part in parts.values():
            part.unlink(missing_ok=True)


# ---- tables --------------------------------------------------------------------------------------
class Table(NamedTuple):
    """A replica's own rows of a table, on the device, and what all replicas know of the whole."""
    X: torch.Tensor  # (own rows, features)
    y: torch.Tensor  # (own rows, 1)
    own: list[range]  # the place of these rows in the whole table
    rows: int  # of the whole table
    replicas: int  # that share these rows
    preparation: str
    digest: str

    def batches(self, size: int = 0, shuffle: Any = None, skip: int = 0) -> Iterator[Any]:
        """Yield an epoch's batches after the first `skip`: chunks of own rows, rows of all."""
        if not 0 < size < self.rows:
            yield from [([(self.X, self.y)], self.rows)][skip:]
            return
        order = torch.randperm(self.rows, generator=shuffle)  # the same on all replicas
        own = (order >= self.own[0].start) & (order < self.own[0].stop)
        sizes = [int(part.sum()) for part in torch.split(own, size)]
        rows = (order[own] - self.own[0].start).to(self.X.device)
        parts = (torch.split(table[rows], sizes) for table in (self.X, self.y))
        batches = zip(*parts, torch.split(order, size), strict=True)
        for X, y, batch in itertools.islice(batches, skip, None):
            yield [(X, y)], len(batch)

def own_rows(rows: int, rank: int, replicas: int) -> range:
    """Return a replica's rows: those of all replicas are disjoint, and together the whole table."""
    return range(rows * rank // replicas, rows * (rank + 1) // replicas)

def read_archive(path: str, part: str) -> list[Any]:
    """Return X, y, the preparation and a digest of an npz archive, or refuse it."""
    path, remote = mounted(path), "://" in mounted(path)
    require(remote or Path(path).exists(), "No such file or directory; check the name")
    require(remote or Path(path).is_file(),  # a named pipe may never end
            "it is not a file; give an npz archive of arrays, as numpy.savez writes it")
    content = find_object(path)[0]() if remote else Path(path).read_bytes()
    archive: Any = np.lib.npyio.NpzFile(io.BytesIO(content))  # never unpickles
    require(not archive.zip.testzip(), "it is damaged; write it again with numpy.savez")
    for name in (f"X_{part}", f"y_{part}"):
        require(name in archive, f"there is no array {name}; name the arrays in numpy.savez")
    with archive, np.errstate(over="ignore"):  # what is too large for float32 becomes infinite
        X, y = (archive[f"{name}_{part}"].astype(np.float32, casting="same_kind") for name in "Xy")
        preparation = archive["preparation"] if "preparation" in archive else np.array("")
    require(preparation.dtype.kind == "U", "preparation is not text; write it as JSON")
    require(X.ndim == 2 and X.size,
            f"X_{part} has shape {X.shape}; make it (rows, features), none 0")
    require(y.shape in ((len(X),), (len(X), 1)),
            f"y_{part} has shape {y.shape}; give each of {len(X)} rows one label")
    require(np.isin(y, (0, 1)).all(), f"y_{part} has labels other than 0 (no) and 1 (yes)")
    for row, column in (bad := np.argwhere(~np.isfinite(X))):
        raise Refused(f"X_{part} has {len(bad)} missing or infinite values, first in row {row}, "
                      f"column {column} (from 0); fill in or drop the rows")
    return [X, y.reshape(-1, 1), str(preparation), f"{len(content)} {zlib.crc32(content):08x}"]

def read_table(path: str, part: str, device: torch.device, rank: int, replicas: int) -> Any:
    """Return a replica's own rows of a table; all replicas refuse what one refuses."""
    held: list[Any] = []
    advice = ("; check the name and your permissions, and give an npz archive of numbers, with "
              f"X_{part} and y_{part}, as numpy.savez writes it")

    def look() -> str:
        file = Path(mounted(path))
        large = file.is_file() and file.stat().st_size > 2**26 and companion("big_tables")
        if large or path.endswith("/") or file.is_dir() or set("*?[") & set(path):
            return "several"
        held.extend(read_archive(path, part))
        return f"{file.name} {held[-1]}"

    found = {*exchange(look, f"--{part} {path}: ", advice)}
    if len(found) > 1 or "several" in found:
        big = companion("big_tables", f"--{part} {path}: more than one archive")
        return big.read_table(path, part, device, rank, replicas)
    X, y, *about = held
    own = own_rows(len(X), rank, replicas)
    X_own, y_own = (torch.from_numpy(array[own.start : own.stop]).to(device) for array in (X, y))
    return Table(X_own, y_own, [own], len(X), replicas, *about)


# ---- model ---------------------------------------------------------------------------------------
def build_model(features: int, hidden: Sequence[int], seed: int, device: Any = "cpu") -> Sequential:
    """Return linear layers with ReLU between them; their output is a logit: above 0 means yes."""
    layers: list[Module] = []
    with torch.random.fork_rng(devices=[]):  # a notebook's random state stays as it was
        torch.manual_seed(seed)  # on the CPU: every device starts with the same weights
        for inputs, outputs in itertools.pairwise([features, *hidden, 1]):
            layers += [Linear(inputs, outputs), ReLU(inplace=True)]
    return Sequential(*layers[:-1]).to(device)

class Adam:
    """The step of torch.optim.Adam, in one call; that class would first import torch's compiler."""

    def __init__(self, model: Module, learning_rate: float) -> None:
        """Make all weights parts of one tensor, and their gradients parts of another."""
        parameters, self.learning_rate = [*model.parameters()], learning_rate
        sizes = [each.numel() for each in parameters]
        self.weights = parameters[0].detach().new_zeros(sum(sizes))
        self.message = self.weights.new_zeros(sum(sizes) + 2)  # gradients; loss; whether to stop
        self.state = [self.weights.new_zeros(size) for size in (sum(sizes), sum(sizes), ())]
        flat = (torch.split(tensor, sizes) for tensor in (self.weights, self.message[:-2]))
        for each, *parts in zip(parameters, *flat, strict=True):  # transposed: faster on a CPU
            weight, gradient = (part.view(each.shape[::-1]).t() for part in parts)
            each.data, each.grad = weight.copy_(each.detach()), gradient

    def step(self) -> None:
        """Move the weights by one step along their gradients."""
        fused, (mean, square, steps) = self.weights.is_cpu or self.weights.is_cuda, self.state
        adam([self.weights], [self.message[:-2]], [mean], [square], [], [steps], fused=fused,
             lr=self.learning_rate, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.0,
             capturable=self.weights.device.type == "xla", amsgrad=False, maximize=False)
        getattr(sys.modules.get("torch_xla"), "sync", int)()  # XLA computes now what it has put off


# ---- training ------------------------------------------------------------------------------------
def sum_losses(logits: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the sum of the losses of some rows: what training makes small."""
    return binary_cross_entropy_with_logits(logits, y, reduction="sum")

def compute_gradients(model: Module, X: torch.Tensor, y: torch.Tensor, rows: int) -> torch.Tensor:
    """Add the gradients of these rows' share of a mean loss over `rows`; return that share."""
    loss = sum_losses(model(X), y) / rows
    loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach()

@torch.no_grad()
def evaluate(model: Module, table: Any) -> list[float]:
    """Return the mean loss on a table's rows, and the share of them that the model gets right."""
    sums = torch.zeros(2, device=next(model.parameters()).device)
    for X, y in (chunk for chunks, _ in table.batches() for chunk in chunks):
        logits = model(X)
        right = (logits > 0) == (y > 0.5)
        sums += torch.stack((sum_losses(logits, y), right.sum()))
    return [each / table.rows for each in sum_over_replicas(sums, table.replicas).tolist()]

def train_epoch(t: Any) -> float:
    """Take a step for each batch of the training rows; return their mean loss. t: from run()."""
    message, t.shuffled = t.optimizer.message, t.shuffle.get_state()
    batch_loss = message[-2]
    for chunks, rows in t.table.batches(t.flags.batch_size, t.shuffle, len(t.losses)):
        message.zero_()  # and with it the gradients
        for X, y in chunks:
            batch_loss += t.compute_gradients(t.model, X, y, rows)
        if t.stop:
            message[-1] = 1
        sum_over_replicas(message, t.table.replicas)  # now the gradients of the batch's mean loss
        t.optimizer.step()
        t.losses.append((batch_loss.clone(), rows))
        if t.checkpoints and message[-1]:
            t.checkpoints.leave(t)
    losses, rows = zip(*t.losses, strict=True)
    t.losses = []
    return float(np.average(torch.stack(losses).tolist(), weights=rows))

def fit(t: Any, say: Callable[..., None]) -> None:
    """Train until epochs or patience run out, then take the best weights."""
    flags, shown = t.flags, time.perf_counter()
    begun = shown - (t.history[-1][-1] if t.history else 0)
    while t.epoch <= flags.epochs:
        loss, (val_loss, accuracy) = train_epoch(t), evaluate(t.model, t.val)
        require(math.isfinite(val_loss),
                f"no finite loss in epoch {t.epoch}; lower --learning_rate")
        now = time.perf_counter()
        t.history.append((t.epoch, loss, val_loss, accuracy, now - begun))
        if val_loss < t.best_loss - flags.min_delta:
            t.best_loss, t.best_epoch = val_loss, t.epoch
            t.best_weights = t.optimizer.weights.clone()
        stop = t.epoch - t.best_epoch >= flags.patience > 0
        tenth = t.epoch in (1, flags.epochs) or t.epoch * 10 % flags.epochs < 10
        if stop or tenth or now - shown > 2:
            shown = now
            say(f"epoch {t.epoch:5d}  loss {loss:.4f}  validation loss {val_loss:.4f}  "
                f"accuracy {accuracy:.4f}  {now - begun:.1f} s")
        t.epoch += 1
        if stop:
            say(f"stopped: no better validation loss for {flags.patience} epochs")
            break  # the companions hear of this epoch in end()
        for each in t.companions:
            each.after_epoch(t)
    if flags.restore_best:
        t.optimizer.weights.copy_(t.best_weights)


# ---- main ----------------------------------------------------------------------------------------
def run(flags: Any, log: list[str], checkpoints: Any) -> None:
    """Read the tables, train the model, write the results."""
    def say(*lines: str) -> None:
        if rank == 0 or not log:  # the others say their first line, which rows they have
            log.extend(lines)
            print("\n".join((*lines, "")), end="", flush=True)

    def write(files: Mapping[str, bytes | None]) -> None:
        exchange(lambda: write_files(flags.model_dir, files) if rank == 0 else None,
                 f"--model_dir {flags.model_dir}: ", "; name another folder")

    begun, device = time.perf_counter(), choose_device(flags.device)
    rank, world_size = join(device)
    shared = flags.parallelism == "model" and world_size > 1
    layers = companion("shared_layers", "--parallelism model") if shared else sys.modules[__name__]
    share = (0, 1) if shared else (rank, world_size)  # of the rows
    train, val = (read_table(vars(flags)[part], part, device, *share) for part in ("train", "val"))
    features, other = train.X.shape[1], val.X.shape[1]
    require(features == other,
            f"--train has {features} features, --val {other}; prepare both alike")
    require(not train.preparation or val.preparation in ("", train.preparation),
            f"--val {flags.val}: its preparation is not that of --train; prepare both alike")
    model = layers.build_model(features, flags.hidden, flags.seed, device)
    t = SimpleNamespace(  # all that the next step depends on
        flags=flags, table=train, val=val, model=model, device=device,
        compute_gradients=compute_gradients, optimizer=layers.Adam(model, flags.learning_rate),
        shuffle=torch.Generator().manual_seed(flags.seed), epoch=1, losses=[], history=[], log=log,
        best_loss=math.inf, best_epoch=0, best_weights=None, stop=0, resumed=[], reported=0,
        rank=rank, world_size=world_size, shared=shared, companions=[], checkpoints=checkpoints)
    precision = f"--precision {flags.precision}" if flags.precision != "float32" else ""
    if gpu := companion("gpu", precision) if precision or device.type == "cuda" else None:
        gpu.prepare(t)
    weights = sum(each.numel() for each in model.parameters())
    batch = min(flags.batch_size or train.rows, train.rows)
    torch.empty(8 * 2**20 - 4096)  # freed at once: glibc then keeps smaller blocks for reuse
    torch.set_num_threads(choose_threads(math.ceil(batch / share[1]), weights))
    if world_size > 1:
        own = ", ".join(f"{rows.start} to {rows.stop - 1}" for rows in train.own if rows)
        say(f"replica {rank} of {world_size}, {f'rows {own}' if own else 'no rows'}")
    steps = f"{math.ceil(train.rows / batch)} steps" if batch < train.rows else "1 step"
    say(f"{train.rows} rows, {features} features, {weights} weights, {steps} an epoch, on {device}")
    if flags.unknown:
        say(f"ignored, not flags of this script: {' '.join(flags.unknown)}")
    write({})  # refused now, not after the training
    if checkpoints:
        checkpoints.resume(t, say)
        t.companions += [checkpoints]
    by_service = flags.tensorboard_dir == os.environ.get("AIP_TENSORBOARD_LOG_DIR")
    if reports := companion("reports", "" if by_service else "--tensorboard_dir"):
        t.companions += [reports.Reports(t, say)]
    ready = time.perf_counter()
    fit(t, say)
    loss, accuracy = evaluate(model, val)
    write(results(t, loss, accuracy, {"start_up": begun - STARTED, "data": ready - begun}))
    for each in t.companions:
        each.end(t, loss, accuracy)
    say(*ending(t, loss, accuracy))

def ending(t: Any, loss: float, accuracy: float) -> list[str]:
    """Return the last lines printed, in which SageMaker looks for its metrics."""
    return [f"wrote model.pt, metrics.json, history.csv and training.log to {t.flags.model_dir}",
            f"validation:accuracy = {accuracy:.4f}", f"validation:loss = {loss:.4f}"]

def results(t: Any, loss: float, accuracy: float, seconds: dict[str, float]) -> dict[str, Any]:
    """Return the files to write, by name; all replicas call this, and the optimizer is freed."""
    rows = [{"start": rows.start, "stop": rows.stop} for rows in t.table.own or [range(0)]]
    size = {"parameters": t.optimizer.weights.nbytes,
            "optimiser": sum(each.nbytes for each in t.optimizer.state)}
    replica = {"rank": t.rank, "rows": rows[0] if len(rows) == 1 else rows, "bytes": size}
    t.model.zero_grad()
    t.optimizer = t.best_weights = None  # whole layers take this memory now
    state = {name: getattr(each, "full_tensor", each.clone)().cpu().contiguous()
             for name, each in t.model.state_dict().items()}
    about = {"features": t.table.X.shape[1], "hidden": t.flags.hidden,
             "preparation": t.table.preparation}
    torch.save({"model": state, **about}, model := io.BytesIO())
    metrics = {
        "accuracy": accuracy, "loss": loss,
        "device": str(t.device), "threads": torch.get_num_threads(),
        "seconds": {**seconds, "training": t.history[-1][-1]},
        "epochs": {"last": len(t.history), "best": t.best_epoch, "resumed": t.resumed},
        "world_size": t.world_size, "replicas": exchange(lambda: replica),
        "configuration": vars(t.flags),
        "versions": {"python": sys.version.split()[0], "torch": torch.__version__}}
    history = [("epoch", "loss", "val_loss", "val_accuracy", "seconds"), *t.history]
    return {
        "model.pt": model.getvalue(), "preparation.json": t.table.preparation.encode() or None,
        "history.csv": "".join(",".join(map(str, row)) + "\n" for row in history).encode(),
        "training.log": "\n".join([*t.log, *ending(t, loss, accuracy), ""]).encode(),
        "metrics.json": json.dumps(metrics, indent=2).encode()}

def main(flags: Any) -> int:
    """Run, turn what a user can fix into one sentence, and return the exit code."""
    threads, lost, after = torch.get_num_threads(), 1, ", no model was written"
    checkpoints: Any = None
    try:
        if flags.checkpoint_every:
            checkpoints = companion("checkpoints", "--checkpoint_every").Checkpoints(flags)
            lost, after = 134, "; started again, it resumes from its checkpoint"
        with checkpoints or contextlib.nullcontext():  # from now on it hears SIGTERM
            run(flags, [], checkpoints)
        return 0
    except (KeyboardInterrupt, SystemExit) as end:  # the latter was asked to end, and has said so
        code, why = getattr(end, "code", 130), "" if hasattr(end, "code") else f"interrupted{after}"
    except Refused as problem:
        once = os.environ.get("LOCAL_RANK") or "0"  # all refuse, one of each machine says so
        code, why = 2, str(problem) if once == "0" else ""
    except ConnectionError as problem:  # from rendezvous.py
        code, why = lost, f"{problem}{after}"
    except (MemoryError, RuntimeError) as problem:
        if isinstance(problem, MemoryError) or "allocate" in str(problem):
            code, why = 2, ("this network needs more memory than there is; choose smaller "
                            "--hidden, or start several replicas with --parallelism model")
        elif isinstance(problem, dist.DistError) or "gloo" in str(problem):
            code, why = lost, f"another replica ended or cannot be reached{after}"
        else:
            raise
    finally:
        torch.set_num_threads(threads)  # a notebook that runs this file keeps its own number
    if why:
        sys.stderr.write(f"train_nn.py: {why}\n")
    return code

if FLAGS:
    code = main(FLAGS)
    if dist.is_initialized():
        if dist.get_backend() == "nccl":
            dist.destroy_process_group()
        sys.stdout.flush()
        os._exit(code)  # threads of gloo still run: an orderly end may hang (torch 2.4) or abort
    sys.exit(code)
