"""Compute Engine's machines with GPUs: in which zones they are, and what they cost; all dated."""

from __future__ import annotations

from lesson import LessonError
from lesson.money import costs
from lesson.money.costs import Estimate, Increment, Price, price

# From SkyPilot's catalogue, version 8, which reads Google's own lists of machines and prices:
# https://github.com/skypilot-org/skypilot-catalog, catalogs/v8/gcp/vms.csv, commit 006059e.
# Google's own page: https://cloud.google.com/compute/docs/gpus/gpu-regions-zones
READ = "2026"
CATALOGUE = "https://github.com/skypilot-org/skypilot-catalog"
PAGE = "https://cloud.google.com/compute/all-pricing"
REGION = "us-central1"  # of the prices

# GPU: the type of the accelerator, and the machines that have it; N1 takes one to four or eight.
ACCELERATORS = {
    "T4": "nvidia-tesla-t4",
    "V100": "nvidia-tesla-v100",
    "L4": "nvidia-l4",
    "A100": "nvidia-tesla-a100",
    "H100": "nvidia-h100-80gb",
}
FAMILIES = {"T4": "n1-", "V100": "n1-", "L4": "g2-", "A100": "a2-highgpu-", "H100": "a3-highgpu-"}
# Of the families that have their GPUs built in: the smallest machine with so many of them.
BUILT_IN = {
    "L4": {
        1: "g2-standard-4",
        2: "g2-standard-24",
        4: "g2-standard-48",
        8: "g2-standard-96",
    },
    "A100": {count: f"a2-highgpu-{count}g" for count in (1, 2, 4, 8)},
    "H100": {count: f"a3-highgpu-{count}g" for count in (1, 2, 4, 8)},
}
# The zones by their last letters, in the regions of the United States, Europe and Asia.
ZONES = {
    "T4": (
        "asia-east1 ac, asia-northeast1 ac, asia-south1 ab, asia-southeast1 abc, europe-west1 bcd, "
        "europe-west2 ab, europe-west3 b, europe-west4 abc, us-central1 abcf, us-east1 bcd, "
        "us-east4 abc, us-west1 ab, us-west2 bc, us-west3 b, us-west4 ab"
    ),
    "V100": "asia-east1 c, europe-west4 abc, us-central1 abcf, us-east1 bc, us-west1 ab",
    "L4": (
        "asia-east1 abc, asia-northeast1 abc, asia-south1 abc, asia-southeast1 abc, "
        "europe-west1 bc, europe-west2 ab, europe-west3 ab, europe-west4 abc, us-central1 abc, "
        "us-east1 bcd, us-east4 ac, us-west1 abc, us-west4 ac"
    ),
    "A100": (
        "asia-northeast1 ac, asia-southeast1 abc, europe-west4 ab, us-central1 abcf, us-east1 b, "
        "us-west1 b, us-west3 b, us-west4 b"
    ),
    "H100": (
        "asia-east1 c, asia-northeast1 b, asia-south1 c, asia-southeast1 bc, europe-west1 bc, "
        "europe-west3 c, europe-west4 bc, us-central1 abc, us-east4 abc, us-east5 a, us-west1 ab, "
        "us-west4 a"
    ),
}


def _catalogue(usd: float) -> Price:
    return Price(usd, CATALOGUE, READ, "from a catalogue of Google's prices")


# Vertex AI's training costs 1.15 times as much as the same machine of Compute Engine: so says the
# price of the T4, 0.4025 to 0.35, and the machines' prices agree with it.
_N1 = Price(0.18999987, PAGE, "2026-10-07", "worked out: Vertex AI's price / 1.15")
MACHINES = {
    **{f"n1-standard-{4 * n}": Price(n * _N1.usd, PAGE, _N1.read, _N1.sure) for n in (1, 2, 4, 8)},
    "g2-standard-4": Price(0.14679, PAGE, "", "quoted by others"),
}
GPUS = {"T4": _catalogue(0.35), "V100": _catalogue(2.48), "L4": _catalogue(0.56004)}
INCREMENT = Increment(
    "Compute Engine",
    1,
    "https://cloud.google.com/compute/vm-instance-pricing",
    "2026",
    "after a first minute that is billed in full; quoted by others",
)


def gpu_zones(gpu: str, region: str | None = None) -> list[str]:
    """Return the zones that have a GPU, as far as the dated table says; of one region, or all.

    >>> gpu_zones("L4", "us-east4")
    ['us-east4-a', 'us-east4-c']

    Raises LessonError for a GPU that the table does not hold.
    """
    entries = (each.split(" ") for each in ZONES[_require_accelerator(gpu)].split(", "))
    return [
        f"{name}-{letter}"
        for name, letters in entries
        for letter in letters
        if region in (None, name)
    ]


def accelerator_name(gpu: str | None) -> str:
    """Return Compute Engine's name of a GPU's type; empty for None."""
    return ACCELERATORS[_require_accelerator(gpu)] if gpu else ""


def choose(
    machine: str, gpu: str | None, gpu_count: int, *, region: str, zone: str | None
) -> tuple[str, str]:
    """Return the machine type with these GPUs and a zone that has them.

    >>> choose("n1-standard-4", "L4", 1, "us-central1", None)
    ('g2-standard-4', 'us-central1-a')

    Of an N1 machine a T4 or V100 is an addition; the other GPUs are built into a machine type,
    which is chosen here. Raises LessonError for what is not there.
    """
    if gpu is None:
        return machine, zone or f"{region}-b"  # each region has a zone b
    name = _require_accelerator(gpu)
    if name in BUILT_IN and not machine.startswith(FAMILIES[name]):
        if gpu_count not in BUILT_IN[name]:
            counts = ", ".join(map(str, BUILT_IN[name]))
            raise LessonError(f"gpu_count={gpu_count}: machines have {counts} × {name}")
        machine = BUILT_IN[name][gpu_count]
    if not machine.startswith(FAMILIES[name]):
        raise LessonError(
            f"machine={machine!r} takes no {name}; on Compute Engine it is for {FAMILIES[name]}*"
        )
    zones = gpu_zones(name, region)
    if zone is None and not zones:
        raise LessonError(
            f"no zone of {region} has a {name} ({READ}); these have: {', '.join(gpu_zones(name))}"
        )
    if zone is not None and zone not in gpu_zones(name):
        raise LessonError(
            f"zone={zone!r} has no {name} ({READ}); these of {region} have: {', '.join(zones)}"
        )
    return machine, zone or zones[0]


def estimate_vm(
    machine: str,
    gpu: str | None = None,
    hours: float = 1.0,
    *,
    gpu_count: int = 1,
    spot: bool = False,
    region: str = REGION,
) -> Estimate:
    """Estimate what a machine of Compute Engine costs in US dollars, at list price.

    Raises PriceUnknown for what the table does not hold.
    """
    name = gpu and _require_accelerator(gpu)
    return costs.estimate(
        (machine, price(MACHINES, machine, "machine", page=PAGE)),
        gpu=(name, price(GPUS, name, "GPU", page=PAGE)) if name else None,
        gpu_count=gpu_count,
        hours=hours,
        notes=costs.notes(region, REGION, spot),
        increment=INCREMENT,
    )


def _require_accelerator(gpu: str) -> str:
    name = costs.short_name(gpu.upper())
    if name not in ACCELERATORS:
        raise LessonError(f"gpu={gpu!r}: known here are {', '.join(ACCELERATORS)}")
    return name
