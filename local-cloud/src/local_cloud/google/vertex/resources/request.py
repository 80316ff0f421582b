"""Requests for custom jobs: what the protos cannot say about them."""

from __future__ import annotations

import re

from local_cloud.google.vertex.resources.schema import require
from local_cloud.json_types import Json

# Machine series that custom training offers: Vertex AI's page "Configure compute resources", 2026.
MACHINES = re.compile(
    r"(?:n1|n2|n2d|c2|c2d|c3|c4|e2|m1|m2|m3|a2|a3|a4|g2|g4|ct5lp|ct6e|cloud-tpu|cloud_tpu|tpu7x)"
    r"[-a-z0-9_]*"
)

# The accelerators of each series: the same page. A machine of another series takes none.
ACCELERATORS = {
    "n1": (
        "NVIDIA_TESLA_K80",
        "NVIDIA_TESLA_P4",
        "NVIDIA_TESLA_P100",
        "NVIDIA_TESLA_T4",
        "NVIDIA_TESLA_V100",
    ),
    "a2": ("NVIDIA_TESLA_A100", "NVIDIA_A100_80GB"),
    "a3": ("NVIDIA_H100_80GB", "NVIDIA_H100_MEGA_80GB", "NVIDIA_H200_141GB"),
    "a4": ("NVIDIA_B200", "NVIDIA_GB200"),
    "g2": ("NVIDIA_L4",),
    "g4": ("NVIDIA_RTX_PRO_6000",),
    "cloud": ("TPU_V2", "TPU_V3", "TPU_V4_POD", "TPU_V5_LITEPOD"),
}
NO_GPU = "ACCELERATOR_TYPE_UNSPECIFIED"
BUILT_IN = re.compile(r"a\d-\w+-(\d+)g")  # how many a machine of these series has
OF_G2 = {"24": 2, "48": 4, "96": 8}  # by its virtual processors; the others have one
COUNTS = (1, 2, 4, 8)  # that an N1 machine may have
DISKS = ("pd-ssd", "pd-standard", "hyperdisk-balanced")  # DiskSpec in types/machine_resources.py
NETWORK = re.compile(r"projects/[^/]+/global/networks/[^/]+")

GS_URI = re.compile("gs://[^/]")
MOST = 100  # replicas of a job, each a process here; real projects have quotas


def check_job_spec(spec: Json) -> None:
    """Refuse a CustomJobSpec that the service would (contracts: Worker pools)."""
    pools = spec.get("workerPoolSpecs", [])
    require(pools and pools[0], "workerPoolSpecs: the first worker pool needs a replica")
    require(len(pools) <= 4, f"workerPoolSpecs: {len(pools)} pools; there are four roles at most")
    for place, pool in enumerate(pools):
        if pool:
            _check_pool(f"workerPoolSpecs[{place}]", place, pool)
    prefix = spec.get("baseOutputDirectory", {}).get("outputUriPrefix", "gs://none")
    require(
        GS_URI.match(prefix), f"baseOutputDirectory: {prefix!r} does not begin with gs://BUCKET"
    )
    network = spec.get("network", "")
    require(
        not network or NETWORK.fullmatch(network),
        f"network: {network!r} is not projects/PROJECT_NUMBER/global/networks/NAME",
    )
    limit = spec.get("scheduling", {}).get("timeout", "0s")
    require(not limit.startswith("-"), f"scheduling.timeout: {limit} is negative")
    count = sum(int(pool.get("replicaCount", 0)) for pool in pools)
    require(count <= MOST, f"workerPoolSpecs: {count} replicas; {MOST} at most run on one machine")


def check_machine(where: str, machine: Json) -> None:
    """Refuse a machine that is not offered, or accelerators that it cannot have."""
    kind = machine.get("machineType", "")
    require(MACHINES.fullmatch(kind), f"{where}.machineType: {kind!r} is not supported")
    count, accelerator = int(machine.get("acceleratorCount", 0)), machine.get("acceleratorType")
    named = accelerator not in (None, NO_GPU)
    require(named == bool(count), f"{where}: acceleratorType and acceleratorCount go together")
    if not named:
        return
    series = re.split("[-_]", kind)[0]
    known = ACCELERATORS.get(series, ())
    require(
        accelerator in known,
        f"{where}: {accelerator} is not supported for machine type {kind}"
        + (f", which takes {' or '.join(known)}" if known else ", which takes no accelerator"),
    )
    allowed = _counts(series, kind)
    require(
        not allowed or count in allowed,
        f"{where}.acceleratorCount: {count} of {accelerator} is not supported for {kind};"
        f" give {' or '.join(map(str, allowed))}",
    )


def _counts(series: str, machine: str) -> tuple[int, ...]:
    """Return how many accelerators a machine may have; () if any number is taken."""
    if series == "n1":
        return COUNTS
    if series == "g2":
        return (OF_G2.get(machine.rpartition("-")[2], 1),)
    match = BUILT_IN.fullmatch(machine)
    return (int(match[1]),) if match else ()


def _check_pool(where: str, place: int, pool: Json) -> None:
    count = int(pool.get("replicaCount", 0))
    require(count >= 1, f"{where}.replicaCount: {count}; a pool needs at least one replica")
    require(place or count == 1, f"{where}.replicaCount: {count}; the first pool has one replica")
    check_machine(f"{where}.machineSpec", pool.get("machineSpec", {}))
    disk = pool.get("diskSpec", {}).get("bootDiskType", DISKS[0])
    require(disk in DISKS, f"{where}.diskSpec.bootDiskType: {disk!r} is not {', '.join(DISKS)}")
    package, container = pool.get("pythonPackageSpec", {}), pool.get("containerSpec", {})
    require(
        bool(package) != bool(container),
        f"{where}: give either pythonPackageSpec or containerSpec",
    )
    if package:
        for name in ("executorImageUri", "packageUris", "pythonModule"):
            require(package.get(name), f"{where}.pythonPackageSpec.{name}: required")
        for uri in package["packageUris"]:
            require(GS_URI.match(uri), f"{where}: {uri!r} does not begin with gs://BUCKET")
    else:
        require(container.get("imageUri"), f"{where}.containerSpec.imageUri: required")
