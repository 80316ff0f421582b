"""From a training job's request to processes: what each instance runs, and what it meets.

Sources, for each variable: "How Amazon SageMaker runs your training image" in the developer
guide, and the code of the SDK's drivers and of the framework containers' toolkits (read 2026).
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from local_cloud.amazon.sagemaker.algorithms import xgboost_launch
from local_cloud.amazon.sagemaker.instances import drivers, layout
from local_cloud.amazon.sagemaker.instances.layout import ML, Host
from local_cloud.amazon.sagemaker.instances.types import gpus_of
from local_cloud.amazon.sagemaker.jobs.failure_reason import OURS
from local_cloud.amazon.sagemaker.resources.names import arn, split_s3_uri
from local_cloud.amazon.sagemaker.resources.request import limit, patience
from local_cloud.engine.environments import archives
from local_cloud.engine.isolation import roots
from local_cloud.engine.logs import job_files
from local_cloud.engine.spec import ANY_NUMBER, EngineError, JobContext, JobRefused, Plan, Replica
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.names import to_path
from local_cloud.store.objects import Objects

GRACE_SECONDS = 120.0  # between SIGTERM and SIGKILL: API reference, StoppingCondition
CHECKPOINTS = "/opt/ml/checkpoints"  # where CheckpointConfig has no LocalPath
EVENTS = "/opt/ml/output/tensorboard"  # where TensorBoardOutputConfig has none
TOOLKIT = Path(__file__).parents[1] / "instances" / "toolkit.py"
AUTOPILOT = Path(__file__).parents[1] / "autopilot" / "program.py"
REPORT = "output/data/report.json"  # below /opt/ml: how far an Autopilot job has come
LARGEST_REPORT = 8 << 20  # bytes of it
LINK = ".plain"  # in the job's folder: the path of a link to it, so that the same is found again
LONGEST_PATH = 4096
PLAIN = re.compile(r"[A-Za-z0-9_./+-]*")  # what a shell takes as it is
# How the SDK's version 2 asks for several processes: hyperparameters that are true.
OTHER_LAUNCHERS = {
    "sagemaker_mpi_enabled": "MPI",
    "sagemaker_pytorch_ddp_enabled": "pytorchddp",
    "sagemaker_distributed_dataparallel_enabled": "smdistributed",
    "sagemaker_parameter_server_enabled": "a parameter server",
}


def plan(document: Json, context: JobContext, objects: Objects, *, base: Json) -> Plan:
    """Make the instances' /opt/ml and say what they run; raises JobRefused where that cannot be.

    document: the job's request, a note on what it will lack, and, of a trial, its tuning job.
    """
    request = document["request"]
    image = request["AlgorithmSpecification"]["TrainingImage"]
    port = context.port()
    count = request["ResourceConfig"]["InstanceCount"]
    shared = _environment(request, port, context.port(), base=base)
    replicas, installed = [], list[str]()
    for host in hosts(context.folder, count):
        layout.make(host, request, objects)
        own = _gpus(request, context.gpus, host.rank)
        places = {ML: host.ml} | _live(request, host, objects)
        drivers.fit(host, port, len(own), places=places)
        command = (
            (sys.executable, "-I", str(AUTOPILOT), ML)
            if document.get("autopilot")
            else _command(request, host, objects, context=context)
        )
        installed += _install(host, image, context)
        env = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, own))} | shared
        replicas.append(
            Replica(
                host.name,
                command,
                env,
                mounts=places,
                launched=_code_folder(request, host),
                image=image,
                hosts=host.hosts,
            )
        )
    spot = request.get("EnableManagedSpotTraining")
    return Plan(
        replicas=tuple(replicas),
        timeout=float(limit(request)),
        deadline=patience(request),
        grace=GRACE_SECONDS,
        interruptions=ANY_NUMBER if spot else None,  # until MaxWaitTimeInSeconds is over
        notes=(*notes(context.base(image).note, document["note"]), *installed),
    )


def hosts(folder: Path, count: int) -> list[Host]:
    """Return the instances of a job whose folder this is, by rank."""
    return real_hosts(folder if roots.available() else _plain(folder), count)


def real_hosts(folder: Path, count: int) -> list[Host]:
    """Return the instances of a job, in its folder itself: no job can change the path of that."""
    names = layout.names(count)
    return [Host(name, names, folder / name / "ml") for name in names]


def _plain(folder: Path) -> Path:
    """Return the folder at a path without blanks and the like, which scripts often do not quote."""
    if PLAIN.fullmatch(str(folder)):
        return folder
    if known := _find_link(folder):
        return known
    (folder / LINK).unlink(missing_ok=True)
    made = Path(tempfile.mkdtemp(prefix="lc-"), "job")
    made.symlink_to(folder)
    with job_files.open_own(folder, LINK, "wb") as file:
        file.write(str(made).encode())
    return made


def _find_link(folder: Path) -> Path | None:
    """Return the link that _plain() has made; None if there is none.

    The job may have written anything into the file, such as the path of a file of yours.
    """
    named = Path(job_files.read(folder, LINK, most=LONGEST_PATH, hidden=b""))
    try:
        return named if os.readlink(named) == str(folder) else None
    except (OSError, ValueError):
        return None


def report(folder: Path, hidden: bytes) -> Json:
    """Return what the program of an Autopilot job has reported so far; {} before it has begun.

    hidden: a text that nobody is to read in it.
    """
    below = f"{layout.names(1)[0]}/ml/{REPORT}"
    try:
        content = json.loads(job_files.read(folder, below, most=LARGEST_REPORT, hidden=hidden))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def remove(folder: Path, hosts: Sequence[Host]) -> None:
    """Remove the instances' folders: they are gone, and their disks with them."""
    for host in hosts:
        job_files.remove(folder, host.ml)


def forget(folder: Path) -> None:
    """Remove what lies outside the job's folder."""
    if made := _find_link(folder):
        made.unlink(missing_ok=True)
        with suppress(OSError):  # systems clear away what has long lain there
            made.parent.rmdir()
    (folder / LINK).unlink(missing_ok=True)


def _environment(request: Json, port: int, other_port: int, *, base: Mapping[str, str]) -> Json:
    """Return the variables that are the same on every instance; the request's own come last."""
    name = request["TrainingJobName"]
    names = layout.names(request["ResourceConfig"]["InstanceCount"])
    return {
        **base,
        **without_proxy(base, names),
        "TRAINING_JOB_NAME": name,
        "TRAINING_JOB_ARN": arn(f"training-job/{name}"),
        # A torchrun that is told no port (of one instance) would take the same one in every job.
        "PET_MASTER_PORT": str(other_port),
        # PyTorch's containers set these on every instance, whatever is launched.
        **({"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)} if _program(request) else {}),
        # An image's program that is told no other place looks there, where nothing can be mounted.
        **({} if roots.available() else {"SAGEMAKER_BASE_DIR": ML}),
        **(request.get("Environment") or {}),
    }


def without_proxy(base: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    """Return the variables by which no proxy is asked for these hosts either."""
    hosts_by_name = {name: base.get(name) for name in ("NO_PROXY", "no_proxy")}
    return {name: ",".join([hosts, *names]) for name, hosts in hosts_by_name.items() if hosts}


def _gpus(request: Json, given: tuple[int, ...], rank: int) -> tuple[int, ...]:
    count = gpus_of(request["ResourceConfig"]["InstanceType"]) if given else 0
    return given[rank * count : (rank + 1) * count]


def _live(request: Json, host: Host, objects: Objects) -> dict[str, Path]:
    """Show folders of S3 at local paths, live both ways, for all hosts: checkpoints, events.

    Below /opt/ml they are links to the folders at their own paths. Returned are further mounts.
    """
    shown: dict[str, Path] = {}
    if wanted := request.get("CheckpointConfig"):
        local = wanted.get("LocalPath") or CHECKPOINTS
        shown |= _show(wanted["S3Uri"], local, "CheckpointConfig.S3Uri", host=host, objects=objects)
    if wanted := request.get("TensorBoardOutputConfig"):
        # Each job has a folder of its own there (observed: public logs of `tensorboard --logdir`).
        base = wanted["S3OutputPath"].rstrip("/")
        uri = f"{base}/{request['TrainingJobName']}/tensorboard-output"
        local = wanted.get("LocalPath") or EVENTS
        shown |= _show(
            uri, local, "TensorBoardOutputConfig.S3OutputPath", host=host, objects=objects
        )
    return shown


def _show(uri: str, local: str, field: str, *, host: Host, objects: Objects) -> Mapping[str, Path]:
    folder = _folder_of(uri, field, objects)
    local, own = os.path.normpath(local), f"{field.partition('.')[0]}.LocalPath"
    if not local.startswith("/") or local in ("/", "/opt", ML):
        raise JobRefused(f"{own}: {local} cannot stand for a folder of S3")
    if not local.startswith(f"{ML}/"):
        return {local: folder}
    link = host.ml / local.removeprefix(f"{ML}/")
    if link.exists():
        raise JobRefused(f"{own}: {local} has another use in every job")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(folder)
    return {str(folder): folder}


def _folder_of(uri: str, field: str, objects: Objects) -> Path:
    """Return the folder of the bucket that holds the objects below this URI."""
    bucket, prefix = split_s3_uri(uri.removesuffix("/"))
    folder = objects.folder / bucket / prefix
    # Only where a key is its own path has what is written there the right key.
    if (prefix and to_path(prefix) != prefix) or folder.resolve() != folder:
        raise JobRefused(f"{field}: {uri} cannot be shown as a folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise JobRefused(
            f"{field}: an object is in the way of the folder {uri}; choose another prefix"
        ) from None
    return folder


def _command(
    request: Json, host: Host, objects: Objects, *, context: JobContext
) -> tuple[str, ...]:
    algorithm = request["AlgorithmSpecification"]
    if entry := algorithm.get("ContainerEntrypoint"):
        return (*entry, *(algorithm.get("ContainerArguments") or []))
    if not _program(request):
        base = context.base(algorithm["TrainingImage"])
        if words := base.command((), algorithm.get("ContainerArguments") or ["train"]):
            return words
        if xgboost_launch.is_meant(request, request.get("HyperParameters") or {}):
            return xgboost_launch.train_command(base, len(host.hosts), ML)
        raise JobRefused(
            f"{base.note}. What it would start is unknown here: give the job a ContainerEntrypoint,"
            " or code for the SDK to send"
        )
    _bring_code(request, host, objects)
    return (sys.executable, "-I", str(TOOLKIT), ML)


def _code_folder(request: Json, host: Host) -> Path | None:
    """Return the folder with the code that the toolkit or the SDK's driver runs; None: neither."""
    if _program(request):
        return host.ml / "code"
    return host.channel(drivers.CODE) if drivers.are_in(host) else None


# ---- the framework containers' way: a program among the hyperparameters ----------------------
def decode_hyperparameters(hyperparameters: Mapping[str, str]) -> Json:
    """Decode values as the toolkit reads them: JSON where it is JSON, else the text itself."""
    return {name: _decode(value) for name, value in hyperparameters.items()}


def _decode(value: str) -> Any:
    try:
        return json.loads(value)
    except ValueError:
        return value


def _read_setting(request: Json, name: str) -> str:
    """Return what the request says in the environment, else among the hyperparameters."""
    environment = request.get("Environment") or {}
    hyperparameters = decode_hyperparameters(request.get("HyperParameters") or {})
    return str(environment.get(name.upper()) or hyperparameters.get(name) or "")


def _program(request: Json) -> str:
    """Return the script that the framework's container is to run; "" if there is none."""
    return _read_setting(request, "sagemaker_program")


def _bring_code(request: Json, host: Host, objects: Objects) -> None:
    """Unpack the code of the job where the toolkit looks for it."""
    for name, launcher in OTHER_LAUNCHERS.items():
        if decode_hyperparameters(request.get("HyperParameters") or {}).get(name) is True:
            raise JobRefused(
                f"{launcher} is not implemented in the local cloud; use torch_distributed"
            )
    uri = _read_setting(request, "sagemaker_submit_directory")
    try:
        bucket, key = split_s3_uri(uri)
        archive = objects.get(bucket, key)
    except (ValueError, StoreError) as problem:
        raise JobRefused(f"sagemaker_submit_directory: {problem}") from None
    code = host.ml / "code"
    try:
        archives.extract(archive.path, code)
    except EngineError as problem:
        raise JobRefused(f"{uri}: {problem}") from None
    if not roots.available():
        drivers.rewrite_all(code, {ML: host.ml})


def _install(host: Host, image: str, context: JobContext) -> list[str]:
    """Install what the requirements.txt beside the code names, once for all hosts; lines on it.

    Beside the code of a toolkit's job; the SDK's drivers install their own.
    """
    file = host.ml / "code" / "requirements.txt"
    if not file.is_file():
        return []
    try:
        return [f"{OURS}{line}" for line in context.install(["-r", str(file)], image)]
    except EngineError as problem:
        raise JobRefused(f"requirements.txt: {problem}") from None


def notes(*told: str) -> tuple[str, ...]:
    """Return the first lines of every log: what is not as on the real service."""
    lines = [note for note in told if note]
    if not roots.available():
        lines.append(f"this machine allows no mounts; {ML} in the scripts became a folder's path")
    return tuple(f"{OURS}{line}" for line in lines)
