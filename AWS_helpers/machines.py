"""EC2's machines with GPUs: in which regions they are, and what they cost; all dated."""

from __future__ import annotations

from lesson import LessonError
from lesson.money import costs
from lesson.money.costs import Estimate, Increment, Price, price, short_name

REGION = "us-east-1"  # of the prices
PAGE = "https://aws.amazon.com/ec2/pricing/on-demand/"
MACHINE = "m5.xlarge"  # what a machine is unless another is named
# On EC2 a GPU is part of the instance type: of each GPU, the family, and the smallest size that has
# so many of them; other sizes have one. https://docs.aws.amazon.com/ec2/latest/instancetypes/ac.html
WITH_GPU = {
    "T4": ("g4dn", {1: "xlarge", 4: "12xlarge", 8: "metal"}),
    "A10G": ("g5", {1: "xlarge", 4: "12xlarge", 8: "48xlarge"}),
    "L4": ("g6", {1: "xlarge", 4: "12xlarge", 8: "48xlarge"}),
    "V100": ("p3", {1: "2xlarge", 4: "8xlarge", 8: "16xlarge"}),
    "A100": ("p4d", {8: "24xlarge"}),
    "H100": ("p5", {1: "4xlarge", 8: "48xlarge"}),
}
FOUR_TOO = ("g5.24xlarge", "g6.24xlarge")
# The zones of a region have other names in each account, so a table of zones would be wrong for
# most readers. `aws ec2 describe-instance-type-offerings --location-type availability-zone` knows
# those of yours; EC2 chooses one of them if none is named. The regions with g5.2xlarge, as that
# command answered in 2025: https://github.com/validatedpatterns/rag-llm-gitops/pull/52
READ = "2025"
REGIONS = {
    "A10G": (
        "us-east-1",
        "us-east-2",
        "us-west-1",
        "us-west-2",
        "ca-central-1",
        "sa-east-1",
        "eu-west-1",
        "eu-west-2",
        "eu-west-3",
        "eu-central-1",
        "eu-north-1",
        "ap-northeast-1",
        "ap-northeast-2",
        "ap-northeast-3",
        "ap-southeast-1",
        "ap-southeast-2",
        "ap-south-1",
    ),
}
MACHINES = {
    name: Price(usd, PAGE, "", "quoted by others")
    for name, usd in {
        "m5.large": 0.096,
        "m5.xlarge": 0.192,
        "g4dn.xlarge": 0.526,
        "g4dn.12xlarge": 3.912,
        "g5.xlarge": 1.006,
        "g5.12xlarge": 5.672,
        "g6.xlarge": 0.8048,
    }.items()
}
INCREMENT = Increment(
    "EC2", 1, PAGE, "", "after a first minute that is billed in full; quoted by others"
)


def choose(machine: str, gpu: str | None, gpu_count: int, *, region: str) -> tuple[str, int]:
    """Return EC2's name of the instance type, and how many GPUs it has.

    >>> choose("ml.m5.xlarge", "T4", 4, "us-east-1")
    ('g4dn.12xlarge', 4)

    `machine` may be SageMaker's name. Raises LessonError for a GPU that is not known here, and for
    a region that does not have it.
    """
    machine = machine.removeprefix("ml.")
    if gpu is None:
        return machine, count_gpus(machine)
    name = short_name(gpu.upper())
    if name not in WITH_GPU:
        raise LessonError(f"gpu={gpu!r}: known here are {', '.join(WITH_GPU)}")
    family, sizes = WITH_GPU[name]
    if machine != MACHINE and not machine.startswith(f"{family}."):
        raise LessonError(f"machine={machine!r} has no {name}; name one of {family}.*, or none")
    if gpu_count not in sizes:
        counts = ", ".join(map(str, sizes))
        raise LessonError(f"gpu_count={gpu_count}: instance types have {counts} × {name}")
    if region not in REGIONS.get(name, (region,)):
        raise LessonError(
            f"{region} has no {name} ({READ}); these have: {', '.join(REGIONS[name])}"
        )
    machine = f"{family}.{sizes[gpu_count]}" if machine == MACHINE else machine
    return machine, count_gpus(machine)


def count_gpus(machine: str) -> int:
    """Return how many GPUs an instance type has.

    >>> count_gpus("g5.12xlarge"), count_gpus("g5.2xlarge"), count_gpus("m5.large")
    (4, 1, 0)
    """
    named, _, size = machine.partition(".")
    for family, sizes in WITH_GPU.values():
        if family == named:
            counts = {each: count for count, each in sizes.items()}
            return 4 if machine in FOUR_TOO else counts.get(size, 1)
    return 0


def estimate_vm(
    machine: str, hours: float = 1.0, *, spot: bool = False, region: str = REGION
) -> Estimate:
    """Estimate what an instance of EC2 costs in US dollars, at list price.

    Raises PriceUnknown for an instance type that the table does not hold.
    """
    return costs.estimate(
        (machine, price(MACHINES, machine, "instance type", page=PAGE)),
        hours=hours,
        notes=costs.notes(region, REGION, spot),
        increment=INCREMENT,
    )
