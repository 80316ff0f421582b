"""Requests for custom jobs: what the protos cannot say about them."""

from __future__ import annotations

import re

from local_cloud.google.vertex.resources.schema import Json, require

# Machine series that custom training offers: Vertex AI's page "Configure compute resources", 2026.
MACHINES = re.compile(
    r"(?:n1|n2|n2d|c2|c2d|c3|c4|e2|m1|m2|m3|a2|a3|a4|g2|g4|ct5lp|ct6e|cloud-tpu|cloud_tpu|tpu7x)"
    r"[-a-z0-9_]*"
)

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
    limit = spec.get("scheduling", {}).get("timeout", "0s")
    require(not limit.startswith("-"), f"scheduling.timeout: {limit} is negative")
    count = sum(int(pool.get("replicaCount", 0)) for pool in pools)
    require(count <= MOST, f"workerPoolSpecs: {count} replicas; {MOST} at most run on one machine")


def _check_pool(where: str, place: int, pool: Json) -> None:
    count = int(pool.get("replicaCount", 0))
    require(count >= 1, f"{where}.replicaCount: {count}; a pool needs at least one replica")
    require(place or count == 1, f"{where}.replicaCount: {count}; the first pool has one replica")
    machine = pool.get("machineSpec", {})
    kind = machine.get("machineType", "")
    require(MACHINES.fullmatch(kind), f"{where}.machineSpec.machineType: {kind!r} is not supported")
    accelerators = int(machine.get("acceleratorCount", 0))
    named = machine.get("acceleratorType", "ACCELERATOR_TYPE_UNSPECIFIED") != (
        "ACCELERATOR_TYPE_UNSPECIFIED"
    )
    require(
        named == bool(accelerators),
        f"{where}.machineSpec: acceleratorType and acceleratorCount go together",
    )
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
