"""A virtual machine (VM) on EC2, which trains and then terminates itself."""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from AWS_helpers import spending, storage
from AWS_helpers.describe import SageMaker
from AWS_helpers.machines import MACHINE, choose, estimate_vm
from AWS_helpers.session import Session, current_session, refusals
from lesson import LessonError, target
from lesson.jobs import sending
from lesson.jobs.request import Request
from lesson.jobs.runs import Run
from lesson.jobs.spec import JobSpec
from lesson.machines import vm
from lesson.money import budget, costs
from lesson.services.sessions import new_name

# Amazon's own images, by what the Parameter Store calls them: with NVIDIA's driver, and without.
# https://docs.aws.amazon.com/dlami/latest/devguide/find-dlami-id.html
PARAMETERS = {
    True: "deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id",
    False: "canonical/ubuntu/server/24.04/stable/current/amd64/hvm/ebs-gp3/ami-id",
}
DISK_GB = 100  # torch with its libraries for GPUs takes a tenth of it
LARGEST = 16 * 1024  # bytes of user data, as EC2 takes them
PROFILE = "lesson-vm"  # an instance profile whose role may read and write the bucket
COPY = """\
import sys
import boto3

source, target = sys.argv[1:]
bucket, _, name = (source if "://" in source else target).removeprefix("s3://").partition("/")
if "://" in source:
    boto3.client("s3").download_file(bucket, name, target)
else:
    boto3.client("s3").upload_file(source, bucket, name)
"""


def train_on_vm(
    args: Mapping[str, Any],
    machine: str = MACHINE,
    gpu: str | None = None,
    *,
    spot: bool = False,
    wait: bool = True,
    dry_run: bool = False,
    gpu_count: int = 1,
    hours: float = 2.0,
    zone: str | None = None,
    profile: str = PROFILE,
) -> Run | Request:
    """Train on a virtual machine on EC2, which terminates itself at the end.

    `args`, `machine`, `gpu` and `spot` mean what they mean to train(); SageMaker's names of
    instance types serve, too. The machine's start-up script checks the driver, makes an
    environment, and starts train_nn.py with torchrun, once for each GPU. After `hours` hours it
    ends in any case. `zone` is an availability zone of your account, `profile` an instance profile
    whose role may read and write the bucket. With wait=False this returns at once, and wait(run)
    later. Returns a row of the run table with the request at .request; with dry_run=True the
    request alone, unsent. Under LESSON_TARGET=local this machine runs the same script. Raises
    LessonError for what cannot be sent, and for a training that fails.
    """
    session = current_session()
    sending.check_readable(args, "s3://")
    machine, count = choose(machine, gpu, gpu_count, region=session.region)
    price = partial(estimate_vm, machine, region=session.region)
    costs.state("EC2", price, spot)
    sending.warn_of_stops(args, spot)
    name = new_name("vm")
    base = f"{session.uri}/runs/{name}"
    rented = vm.Machine(name, base, args, count, hours, "boto3", COPY, "shutdown -h now")
    request = vm_request(session, rented, machine, zone=zone, spot=spot, profile=profile)
    if dry_run:
        return request
    cloud = SageMaker(session)
    budget.require(price, budget.HOUR, partial(spending.estimate_spending, cloud))
    begun = time.time()
    with refusals("starting the machine"):
        upload_source(**request["upload_source"])
        if target() == "cloud":
            session.client("ec2").run_instances(**request["run_instances"])
        else:
            vm.run_here(rented)
    spec = JobSpec(name, machine, 1, spot, {}, base, rented.results)
    run = vm.row("EC2", spec, vm.RentedMachine(rented, price, begun), request=request)
    return vm.wait_for(cloud, run) if wait or target() == "local" else run


def vm_request(
    session: Session,
    rented: vm.Machine,
    machine: str,
    *,
    zone: str | None,
    spot: bool,
    profile: str,
) -> Request:
    """Return the calls that upload the code and start the machine; its script is written here.

    https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_RunInstances.html has the fields.
    Raises LessonError for a script that is longer than EC2 takes.
    """
    script = rented.script().write()
    if (size := len(script.encode())) > LARGEST:
        raise LessonError(f"the start-up script has {size} bytes, and EC2 takes {LARGEST}")
    tags = [*session.tag_list, {"Key": "Name", "Value": rented.name}]
    disk = {"VolumeSize": DISK_GB, "VolumeType": "gp3", "DeleteOnTermination": True}
    stops = {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"}
    options: dict[str, Any] = {
        "ImageId": f"resolve:ssm:/aws/service/{PARAMETERS[rented.gpus > 0]}",
        "InstanceType": machine,
        "MinCount": 1,
        "MaxCount": 1,
        "IamInstanceProfile": {"Name": profile},
        "InstanceInitiatedShutdownBehavior": "terminate",
        "MetadataOptions": {"HttpTokens": "required"},
        "BlockDeviceMappings": [{"DeviceName": "/dev/sda1", "Ebs": disk}],
        "TagSpecifications": [
            {"ResourceType": kind, "Tags": tags} for kind in ("instance", "volume")
        ],
        "UserData": script,
    }
    if spot:
        options["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": stops}
    if zone:
        options["Placement"] = {"AvailabilityZone": zone}
    return Request(
        {
            "upload_source": {"uri": f"{rented.base}/{vm.SOURCE}"},
            "run_instances": options,
        },
        clients={"upload_source": "vm", "run_instances": 'client("ec2")'},
    )


def upload_source(uri: str) -> None:
    """Upload the folder with train_nn.py, packed, to an s3:// URI."""
    bucket, name = storage.split(uri)
    current_session().client("s3").put_object(Bucket=bucket, Key=name, Body=vm.pack())
