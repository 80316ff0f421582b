"""The exercises of episode 19, Without the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.letters import in_order, one_each, some

yours = some(
    {
        "A": "of A: nobody switches off a machine that you have started.",
        "C": "of C: the machine is gone, and nothing is left that would ask for another one.",
        "E": "of E: what is printed on a machine is gone with it, unless somebody copies it.",
    },
    {
        "B": "of B: the flags are yours in both cases.",
        "D": "of D: a service does not see a baseline either.",
    },
    praise="A service does these three for each job; a VM does none of them by itself.",
    advice="ask of each: does train() do it, or did you do it before and after train(), too?",
)

startup = in_order(
    [
        ("C", "B", "if the first steps hang, nothing ends the machine yet."),
        ("B", "F", "packages take minutes to install, and without GPUs they are of no use."),
        ("F", "D", "the program that reads the bucket is one of the packages."),
        ("D", "A", "there is no train_nn.py on the machine yet."),
        ("A", "E", "the log of the training is not complete before it ends."),
    ],
    {},
    praise=(
        "Start the process that ends the machine first, and make quick checks before slow steps."
    ),
    advice="which step has to be there already if every other one hangs? Begin with that one.",
)


def _judge_forgotten(dollars: float) -> str:
    if abs(dollars - 32.4) < 0.05:
        return ""
    for wrong, why in {
        0.135: "that is the training: the machine is billed until it is off.",
        21.0: "that is the GPU alone: the machine is billed, too.",
        11.4: "that is the machine alone: its GPU is billed, too.",
    }.items():
        if abs(dollars - wrong) < 0.05 * wrong:
            return why
    return "each hour costs the machine and its GPU, whether they train or not."


forgotten = Exercise(
    float,
    _judge_forgotten,
    "You pay for 60 hours of the machine and its GPU. The training itself cost 14 cents of it.",
    "add the two prices of an hour, and count the hours until somebody looked.",
    unit="dollars",
)


def _judge_request(request: Any) -> str:
    inner = request.get("insert") if isinstance(request, Mapping) else None
    body = inner.get("json") if isinstance(inner, Mapping) else None
    if not isinstance(body, Mapping):
        return "the answer is what gcp.train_on_vm(..., dry_run=True) returns."
    machine = str(body.get("machineType")).rpartition("/")[2]
    if not machine.startswith("g2-"):
        return f"its machine is {machine}, which has no L4: name the GPU."
    timing = body.get("scheduling", {})
    if timing.get("provisioningModel") != "SPOT":
        return "it is no spot machine."
    seconds = int(timing.get("maxRunDuration", {}).get("seconds", 0))
    if seconds > 3600:
        return f"it may run for {seconds / 3600:.1f} hours; hours=0.5 is half an hour."
    return ""


request = Exercise(
    object,
    _judge_request,
    "The L4 has chosen the machine type, and Google deletes the machine soon after the half hour.",
    "gpu, spot and hours are arguments; train_on_vm? shows all of them.",
    kind="write",
)


def _judge_nodes(documents: Any) -> str:
    objects = documents if isinstance(documents, list) else []
    jobs = [
        each for each in objects if isinstance(each, Mapping) and each.get("kind") == "TrainJob"
    ]
    if not jobs:
        return "the answer is what documents(path) returns, of a manifest of the kind TrainJob."
    trainer = jobs[0].get("spec", {}).get("trainer", {})
    nodes, gpus = trainer.get("numNodes"), trainer.get("numProcPerNode")
    if nodes != 2:
        return f"it has {nodes} nodes: replicas says how many."
    if gpus != 4 or "resourcesPerNode" not in trainer:
        return f"each node starts {gpus} processes, one for each GPU: gpu and gpu_count say more."
    return ""


nodes = Exercise(
    object,
    _judge_nodes,
    "Two nodes with four GPUs each are eight replicas of one model.",
    "the arguments are those of train(): how many machines, which GPU, how many of it.",
    kind="write",
)

engine = one_each(
    "SMKR",
    "SMKR",
    wrong=[
        "first case: one job a month, of an hour: what is there to run between two of them?",
        "second case: the driver is the program's own, so the image has to be, too.",
        "third case: several teams wait for the same GPUs: who decides whose turn it is?",
        "fourth case: it is one Python program that hands out thousands of small pieces.",
    ],
    praise="An hour a month needs no machines of its own, a VM takes any driver, Kubernetes "
    "shares the 64 GPUs, and Ray starts many small tasks quickly.",
    advice="ask of each: who would look after it, and for how many jobs?",
)
