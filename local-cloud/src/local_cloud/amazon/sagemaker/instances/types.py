"""What an instance type stands for: here, its number of GPUs alone counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# GPUs of the instance types of a family by size, as Amazon's EC2 pages "Accelerated computing
# instances" list them (read 2026); the sizes that are not named have one.
LARGER = {
    "p2": {"8xlarge": 8, "16xlarge": 16},
    "p3": {"8xlarge": 4, "16xlarge": 8},
    "p3dn": {"24xlarge": 8},
    "p4d": {"24xlarge": 8},
    "p4de": {"24xlarge": 8},
    "p5": {"48xlarge": 8},
    "p5e": {"48xlarge": 8},
    "p5en": {"48xlarge": 8},
    "p6-b200": {"48xlarge": 8},
    "p6-b300": {"48xlarge": 8},
    "g4dn": {"12xlarge": 4},
    "g5": {"12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
    "g6": {"12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
    "g6e": {"12xlarge": 4, "24xlarge": 4, "48xlarge": 8},
}


def gpus_of(instance_type: str) -> int:
    """Return the GPUs of one instance of this type, `ml.g5.xlarge` say; 0 for a family without."""
    _, family, size = instance_type.split(".")
    return LARGER[family].get(size, 1) if family in LARGER else 0


@dataclass(frozen=True)
class Device:
    """What the instances' GPUs come to on this machine."""

    gpus: int  # to be reserved, for all instances together
    missing: str  # a sentence, where the job asked for what is not here


def device(resources: Mapping[str, Any], here: int) -> Device:
    """Return whether this machine, with `here` GPUs, has all that the instances ask for."""
    needed = gpus_of(resources["InstanceType"]) * resources["InstanceCount"]
    if needed <= here:
        return Device(needed, "")
    requested = f"{resources['InstanceCount']} x {resources['InstanceType']}"
    return Device(
        0,
        f"{requested} has {needed} GPUs, this machine has {here}: the job runs on the CPU",
    )
