"""A virtual machine (VM) on Compute Engine, which trains and then deletes itself."""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from GCP_helpers import spending, storage
from GCP_helpers.describe import VertexAI
from GCP_helpers.machines import accelerator_name, choose, estimate_vm
from GCP_helpers.session import Session, current_session, refusals
from lesson import LessonError, target
from lesson.jobs import sending
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from lesson.jobs.spec import JobSpec
from lesson.machines import vm
from lesson.money import budget, costs
from lesson.services.sessions import new_name

API = "https://compute.googleapis.com/compute/v1"
SCOPE = "https://www.googleapis.com/auth/cloud-platform"
# Images of Compute Engine, by family: with NVIDIA's driver, and without.
# https://cloud.google.com/deep-learning-vm/docs/images has the list of the first ones.
IMAGES = {
    True: ("deeplearning-platform-release", "common-cu128-ubuntu-2204-nvidia-570"),
    False: ("ubuntu-os-cloud", "ubuntu-2404-lts-amd64"),
}
DISK_GB = 100  # torch with its libraries for GPUs takes a tenth of it
COPY = """\
import sys
from google.cloud.storage import Client

source, target = sys.argv[1:]
bucket, _, name = (source if "://" in source else target).removeprefix("gs://").partition("/")
blob = Client().bucket(bucket).blob(name)
if "://" in source:
    blob.download_to_filename(target)
else:
    blob.upload_from_filename(source)
"""


def train_on_vm(
    args: Mapping[str, Any],
    machine: str = "n1-standard-4",
    gpu: str | None = None,
    *,
    spot: bool = False,
    wait: bool = True,
    dry_run: bool = False,
    gpu_count: int = 1,
    hours: float = 2.0,
    zone: str | None = None,
) -> Run | Request:
    """Train on a virtual machine on Compute Engine, which deletes itself at the end.

    `args`, `machine`, `gpu`, `gpu_count` and `spot` mean what they mean to train(); a GPU that is
    built into a machine type chooses that type. The machine's start-up script checks the driver,
    makes an environment, and starts train_nn.py with torchrun, once for each GPU. After `hours`
    hours it ends in any case. `zone` is one of gpu_zones(), or the first of the session's region.
    With wait=False this returns at once, and wait(run) later. Returns a row of the run table with
    the request at .request; with dry_run=True the request alone, unsent. Under LESSON_TARGET=local
    this machine runs the same script. Raises LessonError for what cannot be sent, and for a
    training that fails.
    """
    session = current_session()
    sending.check_readable(args, "gs://")
    machine, zone = choose(machine, gpu, gpu_count, region=session.region, zone=zone)
    count = gpu_count if gpu else 0
    price = partial(estimate_vm, machine, gpu, gpu_count=gpu_count, region=session.region)
    costs.state("Compute Engine", price, spot)
    sending.warn_of_stops(args, spot)
    name = new_name("vm")
    base = f"{session.uri}/runs/{name}"
    off = f"gcloud --quiet compute instances delete {name} --zone={zone} || shutdown -h now"
    rented = vm.Machine(name, base, args, count, hours, "google-cloud-storage", COPY, off)
    request = vm_request(session, rented, machine, gpu=gpu, zone=zone, spot=spot)
    if dry_run:
        return request
    cloud = VertexAI(session)
    budget.require(price, budget.HOUR, partial(spending.estimate_spending, cloud))
    begun = time.time()
    with refusals("starting the machine"):
        upload_source(**request["upload_source"])
        if target() == "cloud":
            insert(**request["insert"])
        else:
            vm.run_here(rented)
    spec = JobSpec(name, machine, 1, spot, {}, base, rented.results, gpu, count)
    run = vm.row("Compute Engine", spec, vm.RentedMachine(rented, price, begun), request=request)
    return vm.wait_for(cloud, run) if wait or target() == "local" else run


def vm_request(
    session: Session,
    rented: vm.Machine,
    machine: str,
    *,
    gpu: str | None,
    zone: str,
    spot: bool,
) -> Request:
    """Return the calls that upload the code and create the machine; its script is written here.

    https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert has the fields.
    """
    url = f"{API}/projects/{session.project}/zones/{zone}/instances"
    body = instance(rented, machine, gpu=gpu, zone=zone, spot=spot, labels=session.labels)
    return Request(
        {
            "upload_source": {"uri": f"{rented.base}/{vm.SOURCE}"},
            "insert": {"url": url, "json": body},
        },
        clients={"upload_source": "vm", "insert": "vm"},
    )


def instance(
    rented: vm.Machine,
    machine: str,
    *,
    gpu: str | None,
    zone: str,
    spot: bool,
    labels: Mapping[str, str],
) -> dict[str, Any]:
    """Return the Instance that Compute Engine is asked for."""
    project, family = IMAGES[bool(gpu)]
    accelerator = {
        "acceleratorType": f"zones/{zone}/acceleratorTypes/{accelerator_name(gpu)}",
        "acceleratorCount": rented.gpus,
    }
    return {
        "name": rented.name,
        "machineType": f"zones/{zone}/machineTypes/{machine}",
        **({"guestAccelerators": [accelerator]} if gpu else {}),
        "labels": labels,
        "disks": [
            {
                "boot": True,
                "autoDelete": True,
                "initializeParams": {
                    "sourceImage": f"projects/{project}/global/images/family/{family}",
                    "diskSizeGb": str(DISK_GB),
                    "diskType": f"zones/{zone}/diskTypes/pd-balanced",
                },
            }
        ],
        "networkInterfaces": [
            {
                "network": "global/networks/default",
                "accessConfigs": [{"type": "ONE_TO_ONE_NAT", "name": "external-nat"}],
            }
        ],
        "serviceAccounts": [{"email": "default", "scopes": [SCOPE]}],
        "scheduling": {
            "provisioningModel": "SPOT" if spot else "STANDARD",
            "automaticRestart": False,
            "onHostMaintenance": "TERMINATE",
            # What ends the machine even if its own script cannot.
            "maxRunDuration": {"seconds": str(rented.deadline + 2 * rented.grace)},
            "instanceTerminationAction": "DELETE",
        },
        "metadata": {
            "items": [
                {"key": "startup-script", "value": rented.script().write()},
                *([{"key": "install-nvidia-driver", "value": "True"}] if gpu else []),
            ]
        },
    }


def upload_source(uri: str) -> None:
    """Upload the folder with train_nn.py, packed, to a gs:// URI."""
    bucket, name = storage.split(uri)
    blob = current_session().storage.bucket(bucket).blob(name)
    blob.upload_from_string(vm.pack(), "application/gzip")


def insert(url: str, json: Mapping[str, Any]) -> None:
    """Send an Instance with your own credentials; raises LessonError if it is refused."""
    import google.auth
    from google.auth.transport.requests import AuthorizedSession

    credentials, _ = google.auth.default(scopes=[SCOPE])
    session: Any = AuthorizedSession
    answer = session(credentials).post(url, json=json)
    if not answer.ok:
        raise LessonError(f"Compute Engine answered {answer.status_code}, {answer.text.strip()}")


def command(request: Request, path: str) -> str:
    """Upload the code, write the start-up script, and return the command for the machine."""
    url, body = request["insert"]["url"], request["insert"]["json"]
    upload_source(**request["upload_source"])
    project, zone = url.split("/")[-4], url.split("/")[-2]
    disk = body["disks"][0]["initializeParams"]
    image = disk["sourceImage"].split("/")
    items = {each["key"]: each["value"] for each in body["metadata"]["items"]}
    script = items.pop("startup-script")
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(script, encoding="utf-8")
    timing = body["scheduling"]
    options = {
        "project": project,
        "zone": zone,
        "machine-type": _last(body["machineType"]),
        "accelerator": ";".join(
            f"type={_last(each['acceleratorType'])},count={each['acceleratorCount']}"
            for each in body.get("guestAccelerators", [])
        ),
        "image-project": image[1],
        "image-family": image[-1],
        "boot-disk-size": f"{disk['diskSizeGb']}GB",
        "boot-disk-type": _last(disk["diskType"]),
        "labels": ",".join(f"{name}={value}" for name, value in body["labels"].items()),
        "scopes": SCOPE,
        "provisioning-model": timing["provisioningModel"],
        "maintenance-policy": timing["onHostMaintenance"],
        "max-run-duration": f"{timing['maxRunDuration']['seconds']}s",
        "instance-termination-action": timing["instanceTerminationAction"],
        "metadata": ",".join(f"{name}={value}" for name, value in items.items()),
        "metadata-from-file": f"startup-script={path}",
    }
    words = [f"--{name}={value}" for name, value in options.items() if value]
    return shlex.join(
        [
            "gcloud",
            "compute",
            "instances",
            "create",
            body["name"],
            *words,
            "--no-restart-on-failure",
        ]
    )


def _last(uri: str) -> str:
    return uri.rpartition("/")[2]
