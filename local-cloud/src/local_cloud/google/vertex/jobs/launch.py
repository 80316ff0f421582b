"""From a CustomJobSpec to processes: what each replica runs, and the environment it meets.

Sources, for each variable: Vertex AI's pages "Training code requirements" and "Distributed
training" (read 2026), and what real jobs were seen to have where those pages are silent.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local_cloud.engine.environments import packages
from local_cloud.engine.isolation import roots
from local_cloud.engine.spec import EngineError, JobContext, JobRefused, Plan, Replica
from local_cloud.google.projects import project_number
from local_cloud.google.vertex.resources.documents import number_project
from local_cloud.google.vertex.resources.schema import CustomJobSpec, snake_case
from local_cloud.json_types import Json
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects

# The service does not say how long a replica may take to leave after SIGTERM; Compute Engine gives
# a machine that is taken away 30 seconds. Nobody waits that long for a job that he has cancelled.
GRACE_SECONDS = 10.0
DEFAULT_TIMEOUT = 7 * 24 * 3600.0  # Scheduling.timeout in types/custom_job.py
# Exit codes that the service counts as passing: SIGABRT and SIGSEGV, by their numbers, as a shell
# or a container reports them, and as what has ended the process here. The whole job is then run
# again, three times; one on spot machines six times after these were taken away. Both: "Understand
# the training service" and "Use Spot VMs".
PASSING = frozenset({6, 11, 134, 139, -6, -11})
RETRIES, INTERRUPTIONS = 3, 6
PRIMARY = "workerpool0-0"
ROLES = ("chief", "worker", "ps", "evaluator")  # of the pools, by place

# Fields of a CustomJobSpec that are checked and kept, and have no effect on this machine.
IGNORED_IN = "a custom job"  # as the table of calls names it
IGNORED = {
    "workerPoolSpecs[].machineSpec.machineType": "every replica runs on this machine",
    "workerPoolSpecs[].diskSpec": "there is one disk",
    "workerPoolSpecs[].nfsMounts": "only the buckets are mounted",
    "scheduling.strategy": "only SPOT has an effect: its stops can be rehearsed",
    "scheduling.restartJobOnWorkerRestart": "no replica is started again alone: the whole job is,"
    " after the exit codes 6, 11, 134 and 139",
    "scheduling.maxWaitDuration": "a job waits for its turn without a limit",
    "serviceAccount": "there are no accounts, but tensorboard and experiment require one",
    "network": "replicas connect over loopback",
    "reservedIpRanges": "replicas connect over loopback",
    "pscInterfaceConfig": "replicas connect over loopback",
    "enableWebAccess": "log in to this machine instead",
    "enableDashboardAccess": "log in to this machine instead",
    "persistentResourceId": "every job gets its own processes",
    "protectedArtifactLocationId": "everything is in one place",
    "models": "the job's own code names its inputs",
}


def size(spec: Json) -> int:
    """Return how many replicas the pools have together."""
    return sum(int(pool.get("replicaCount", 0)) for pool in spec["workerPoolSpecs"])


@dataclass(frozen=True)
class Device:
    """What the job's accelerators come to on this machine."""

    gpus: int  # to be reserved, for all replicas together
    missing: str  # a sentence, where the job asked for what is not here


def device(spec: Json, here: int) -> Device:
    """Return whether this machine, with `here` GPUs, has the accelerators of the pools."""
    requested = [pool["machineSpec"] for pool in spec["workerPoolSpecs"] if pool]
    kinds = {item["acceleratorType"] for item in requested if item.get("acceleratorCount")}
    needed = sum(
        int(pool["machineSpec"].get("acceleratorCount", 0)) * int(pool["replicaCount"])
        for pool in spec["workerPoolSpecs"]
        if pool
    )
    if needed <= here:
        return Device(needed, "")
    wanted = ", ".join(sorted(kinds))
    return Device(
        0, f"asked for {needed} x {wanted}, this machine has {here} GPUs: the job runs on the CPU"
    )


def folders(prefix: str) -> dict[str, str]:
    """Return the variables that baseOutputDirectory sets.

    Source: types/custom_job.py, base_output_directory.
    """
    base = prefix.rstrip("/")
    return {
        "AIP_MODEL_DIR": f"{base}/model/",
        "AIP_CHECKPOINT_DIR": f"{base}/checkpoints/",
        "AIP_TENSORBOARD_LOG_DIR": f"{base}/logs/",
    }


def metric_file(folder: Path, replica: str) -> Path:
    """Return where a trial's replica reports.

    The package cloudml-hypertune looks into CLOUD_ML_HP_METRIC_FILE.
    """
    return folder / replica / ".metrics"


def plan(document: Json, context: JobContext, objects: Objects, *, base: dict[str, str]) -> Plan:
    """Return what the engine has to run for this job; JobRefused where something is missing."""
    job = document["resource"]
    spec = job["jobSpec"]
    members = _members(spec)
    cluster: dict[str, list[str]] = {}
    for pool, _, _ in members:
        cluster.setdefault(f"workerpool{pool}", []).append(f"127.0.0.1:{context.port()}")
    shared = {**base, **_share_variables(job, context.port())}
    code, installed = {}, []
    for pool_spec in spec["workerPoolSpecs"]:
        for uri in pool_spec.get("pythonPackageSpec", {}).get("packageUris", []):
            code[uri] = _unpack(uri, context.folder / "code", objects)
            required = packages.requirements_of(code[uri])
            installed += _install(uri, required, _image(pool_spec), context=context)
    replicas = []
    for rank, (pool, index, pool_spec) in enumerate(members):
        env = shared | {"RANK": str(rank), "WORLD_SIZE": str(len(members))}
        env |= _gpus(members, context.gpus, rank)
        env |= _cluster(cluster, pool, index, spec=spec)
        command, extra = _command(pool_spec, code, context)
        name = f"workerpool{pool}-{index}"
        if trial := document.get("trial"):
            extra |= {"CLOUD_ML_TRIAL_ID": str(trial)}
            extra |= {"CLOUD_ML_HP_METRIC_FILE": str(metric_file(context.folder, name))}
        replicas.append(
            Replica(
                name,
                tuple(command),
                env | extra,
                mounts={"/gcs": objects.folder},
                reads=tuple(code.values()),
                image=_image(pool_spec),
            )
        )
    scheduling = spec.get("scheduling", {})
    timeout = scheduling.get("timeout", "0s").removesuffix("s")
    return Plan(
        replicas=tuple(replicas),
        primary=0,  # "success = the primary replica exits 0": Understand the training service
        timeout=float(timeout) or DEFAULT_TIMEOUT,
        grace=GRACE_SECONDS,
        retried=PASSING,
        retries=0 if scheduling.get("disableRetries") else RETRIES,
        interruptions=INTERRUPTIONS if scheduling.get("strategy") == "SPOT" else None,
        notes=(*_notes(document, context), *installed),
    )


def _members(spec: Json) -> list[tuple[int, int, Json]]:
    """(pool, index within the pool, pool's spec) of each replica, in order of rank."""
    return [
        (place, index, pool)
        for place, pool in enumerate(spec["workerPoolSpecs"])
        for index in range(int(pool.get("replicaCount", 0)))
    ]


def _share_variables(job: Json, master_port: int) -> dict[str, str]:
    """Return the variables that are the same on every replica."""
    _, project, _, _, _, job_id = job["name"].split("/")
    prefix = job["jobSpec"].get("baseOutputDirectory", {}).get("outputUriPrefix")
    return {
        "CLOUD_ML_PROJECT_ID": project_number(project),
        "CLOUD_ML_JOB_ID": job_id,
        # The path of the buckets' folder, for client/sdks: without mounts it is rewritten.
        "LOCAL_CLOUD_GCS": "/gcs",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(master_port),
        **(folders(prefix) if prefix else {}),
        **_name_experiment(job["jobSpec"]),
    }


def _name_experiment(spec: Json) -> dict[str, str]:
    """Return the names of the experiment and the run, with which a job's SDK goes on.

    Source: constants.py.
    """
    if "experiment" not in spec:
        return {}
    return {
        "AIP_EXPERIMENT_NAME": number_project(spec["experiment"]),
        "AIP_EXPERIMENT_RUN_NAME": number_project(spec["experimentRun"]),
    }


def _cluster(cluster: dict[str, list[str]], pool: int, index: int, *, spec: Json) -> dict[str, str]:
    """CLUSTER_SPEC, and TF_CONFIG for a job of several replicas: Distributed training."""
    task = {"type": f"workerpool{pool}", "index": index}
    variables = {
        "CLUSTER_SPEC": {
            "cluster": cluster,
            "environment": "cloud",
            "task": task,
            "job": snake_case(CustomJobSpec, spec),
        }
    }
    if sum(map(len, cluster.values())) > 1:
        # An evaluator is told its own role, but the cluster does not list it.
        listed = {ROLES[int(name[-1])]: hosts for name, hosts in cluster.items()}
        listed.pop("evaluator", None)
        variables["TF_CONFIG"] = {
            "cluster": listed,
            "environment": "cloud",
            "task": {"type": ROLES[pool], "index": index},
            "job": {},
        }
    return {name: json.dumps(value) for name, value in variables.items()}


def _gpus(
    members: list[tuple[int, int, Json]], given: tuple[int, ...], rank: int
) -> dict[str, str]:
    """Return the GPUs of one replica.

    A replica that has none sees none, as on a machine without.
    """
    counts = [int(pool["machineSpec"].get("acceleratorCount", 0)) for _, _, pool in members]
    begin = sum(counts[:rank])  # pools may differ
    mine = given[begin : begin + counts[rank]]
    return {"CUDA_VISIBLE_DEVICES": ",".join(map(str, mine))}


def _command(
    pool: Json, code: dict[str, Path], context: JobContext
) -> tuple[list[str], dict[str, str]]:
    """Return the command of a replica, and the variables that its pool adds."""
    if container := pool.get("containerSpec"):
        base = context.base(container["imageUri"])
        words = base.command(container.get("command", []), container.get("args", []))
        if not words:
            raise JobRefused(
                f"{base.note}. What it would start is unknown here: give the job a command, a list"
                " of words such as python, -m, trainer.task; or tell the local cloud with"
                " `python -m local_cloud images build URI Dockerfile`"
            )
        return list(words), _env(container)
    package = pool["pythonPackageSpec"]
    env = _env(package)
    paths = [str(code[uri]) for uri in package["packageUris"]]
    path = ":".join(filter(None, [env.get("PYTHONPATH"), *paths]))
    command = [sys.executable, "-m", package["pythonModule"], *package.get("args", [])]
    return command, env | {"PYTHONPATH": path}


def _env(spec: Json) -> dict[str, str]:
    return {item["name"]: item.get("value", "") for item in spec.get("env", [])}


def _unpack(uri: str, into: Path, objects: Objects) -> Path:
    """Return the folder with the code of a package."""
    bucket, _, name = uri.removeprefix("gs://").partition("/")
    try:
        archive = objects.get(bucket, name)
    except StoreError as problem:
        raise JobRefused(f"package {uri}: {problem}") from None
    return packages.unpack(archive.path, into)


def _image(pool: Json) -> str:
    """Return the image in which a pool's replicas run."""
    image: str = (
        pool.get("pythonPackageSpec", {}).get("executorImageUri")
        or pool["containerSpec"]["imageUri"]
    )
    return image


def _install(uri: str, requirements: list[str], image: str, *, context: JobContext) -> list[str]:
    """Install what a package needs into the job's environment; a line for each thing."""
    if not requirements:
        return []
    try:
        return [f"local cloud: {line}" for line in context.install(requirements, image)]
    except EngineError as problem:
        raise JobRefused(f"package {uri}: {problem}") from None


def _notes(document: Json, context: JobContext) -> tuple[str, ...]:
    """Return the first lines of every log: what is not as on the real service."""
    pools = document["resource"]["jobSpec"]["workerPoolSpecs"]
    images = {_image(pool) for pool in pools if pool}
    lines: list[Any] = [f"local cloud: {context.base(image).note}" for image in sorted(images)]
    if "note" in document:
        lines.append(f"local cloud: {document['note']}")
    if not roots.available():
        lines.append("local cloud: this machine allows no mounts; /gcs works in arguments only")
    return tuple(lines)
