"""From a processing job's request to processes: what each instance runs, and what it meets.

Source: "How Amazon SageMaker Processing configures your processing container" in the developer
guide (read 2026).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from local_cloud.amazon.sagemaker.instances import drivers, layout
from local_cloud.amazon.sagemaker.instances.layout import ML, Host
from local_cloud.amazon.sagemaker.instances.types import gpus_of
from local_cloud.amazon.sagemaker.jobs import outputs
from local_cloud.amazon.sagemaker.jobs.launch import GRACE_SECONDS, hosts, notes, without_proxy
from local_cloud.amazon.sagemaker.processing.request import ROOT, inputs
from local_cloud.amazon.sagemaker.processing.request import outputs as outputs_of
from local_cloud.amazon.sagemaker.resources.names import arn
from local_cloud.amazon.sagemaker.resources.request import limit
from local_cloud.engine.isolation import mounts, roots
from local_cloud.engine.spec import JobContext, JobRefused, Plan, Replica
from local_cloud.json_types import Json
from local_cloud.store.objects import Objects

MESSAGE = "output/message"  # below /opt/ml: what the script leaves for ExitMessage


def plan(document: Json, context: JobContext, objects: Objects, *, base: Json) -> Plan:
    """Make the instances' /opt/ml and say what they run; raises JobRefused where that cannot be."""
    request = document["request"]
    image = request["AppSpecification"]["ImageUri"]
    cluster = request["ProcessingResources"]["ClusterConfig"]
    command = _command(request, context)
    variables = _environment(request, cluster["InstanceCount"], base)
    replicas = []
    for host in hosts(context.folder, cluster["InstanceCount"]):
        _make(host, request, objects)
        count = gpus_of(cluster["InstanceType"]) if context.gpus else 0
        own = context.gpus[host.rank * count : (host.rank + 1) * count]
        env = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, own))} | variables
        places = {ML: host.ml}
        replicas.append(
            Replica(host.name, command, env, mounts=places, image=image, hosts=host.hosts)
        )
    return Plan(
        replicas=tuple(replicas),
        timeout=float(limit(request)),
        grace=GRACE_SECONDS,
        notes=notes(context.base(image).note, document["note"]),
    )


def upload(request: Json, places: Sequence[Host], objects: Objects) -> None:
    """Bring the outputs of all instances to S3; of files with the same name the first's counts."""
    for each in outputs_of(request):
        target = each["S3Output"]
        folders = outputs.folders(places, _below(target))
        disks = [host.ml for host in places]
        entries = outputs.merge(folders, target["LocalPath"], objects.space, disks=disks)
        outputs.upload_files(entries, folders, target["S3Uri"], objects=objects)


def _make(host: Host, request: Json, objects: Objects) -> None:
    """Make the host's /opt/ml: what it is, the inputs' files, folders for the outputs."""
    for place in ("config", "output", ROOT.removeprefix(f"{ML}/")):
        (host.ml / place).mkdir(parents=True, exist_ok=True)
    shown = {field: value for field, value in request.items() if field != "Tags"}
    job = {"ProcessingJobArn": arn(f"processing-job/{request['ProcessingJobName']}")} | shown
    where = {"current_host": host.name, "hosts": list(host.hosts)}
    real = {} if roots.available() else {ML: host.ml}
    for name, content in (("processingjobconfig", job), ("resourceconfig", where)):
        text = mounts.rewrite(json.dumps(content), real)
        (host.ml / "config" / f"{name}.json").write_text(text, encoding="utf-8")
    for each in inputs(request):
        folder = _inside(host, each["S3Input"])
        layout.fill(
            folder, f"input {each['InputName']}", each["S3Input"], host=host, objects=objects
        )
        if real:
            drivers.rewrite_all(folder, real)
    for each in outputs_of(request):
        _inside(host, each["S3Output"]).mkdir(parents=True, exist_ok=True)


def _inside(host: Host, part: Json) -> Path:
    """Return the host's folder that an input or output calls by its LocalPath."""
    return host.ml / _below(part)


def _below(part: Json) -> str:
    """Return the LocalPath of an input or output, below /opt/ml."""
    return str(PurePosixPath(part["LocalPath"]).relative_to(ML))


def _environment(request: Json, count: int, base: Json) -> Json:
    """Return the variables of every instance; the request's own come last."""
    return {
        **base,
        **without_proxy(base, layout.names(count)),
        **(request.get("Environment") or {}),
    }


def _command(request: Json, context: JobContext) -> tuple[str, ...]:
    app = request["AppSpecification"]
    arguments = app.get("ContainerArguments") or []
    if entry := app.get("ContainerEntrypoint"):
        return (*entry, *arguments)
    base = context.base(app["ImageUri"])
    if words := base.command((), arguments):
        return words
    raise JobRefused(
        f"{base.note}. What it would start is unknown here: give the job a ContainerEntrypoint"
    )
