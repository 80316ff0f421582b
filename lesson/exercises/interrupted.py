"""The exercises of episode 11, Interrupted jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import function, number
from lesson.exercises.kinds.jobs import Record, job_to_send, not_succeeded
from lesson.exercises.kinds.letters import choice, in_order, some

# The job of the exercise “How often?”: seconds of an epoch, of a checkpoint, stops in an hour.
EPOCH, CHECKPOINT, STOPS = 40.0, 10.0, 0.5


missing = some(
    {
        "A": "in which order would the rows of the next epoch come?",
        "B": "whose weights would it keep at the end, if the best epoch was before the stop?",
        "D": "when would the run that goes on stop early?",
    },
    {
        "C": "the rows are read again at every start; they do not change while it trains.",
        "E": "the next step does not look at the log or at a picture.",
    },
    praise=(
        "The checkpoint lacks the order of the rows, the best weights so far, and the "
        "epoch in which they were found."
    ),
    advice="go through the loop of a training with early stopping: what does each line read that "
    "an earlier epoch has left behind?",
)

order = in_order(
    [
        ("D", "B", "a name for what is not written yet."),
        ("D", "E", "nothing has been written yet that could be brought to the disk."),
        ("E", "B", "without power between these two, the name is on the disk, the content is not."),
    ],
    {
        "A": "killed after that line, it leaves no checkpoint; renaming replaces the old one.",
        "C": "killed in the middle of that line, it leaves a half under the name of a whole.",
    },
    praise="The new file is complete on the disk before it gets the final name.",
    advice="after each line, ask what is there if the machine goes away now.",
)


def _judge_spot_job(record: Record) -> str:
    if not record.spec.spot:
        return "it ran on machines at the full price; an argument of train() asks for spot ones."
    if wrong := not_succeeded(record):
        return wrong
    if str(record.spec.flags.get("checkpoint_every", "0")) in ("0", "0.0"):
        return "it wrote no checkpoints, so it began again after the stop: give it FLAGS, too."
    if not record.status.interruptions:
        return "nobody took its machines away: run the cell with rehearse() before you send it."
    return ""


spot_job = job_to_send(
    _judge_spot_job,
    "The job was interrupted, found its checkpoint in the bucket, and succeeded.",
    "the call for Vertex AI, above, shows how flags and names are joined, and which argument asks "
    "for spot machines.",
)


def _judge_restart(answer: int) -> str:
    if answer == 200:
        return ""
    return {
        170: "a killed process saves nothing: what it did after its newest checkpoint is lost.",
        400: "it does not begin anew: the same command finds the checkpoint in the folder.",
        30: "so many are lost; how many are trained after the restart?",
        230: "so far it had come; from where does it resume, and how far?",
        150: "the newest checkpoint is a later one than that of epoch 150.",
        199: "epoch 200 is in the checkpoint; epoch 201 is the first after the restart.",
        201: "epoch 200 is in the checkpoint; epoch 201 is the first after the restart.",
        250: "in epoch 250 there would have been the next checkpoint; it was killed before.",
    }.get(answer, "which checkpoint is the newest, and how many epochs come after it?")


restart = Exercise(
    int,
    _judge_restart,
    "The last checkpoint is from epoch 200, so the run trains epochs 201 to 400.",
    "after which epochs was a checkpoint written, and which of them was the last before the kill?",
    unit="epochs",
)

folder = choice(
    "C",
    {
        "A": "the weights would be trained at two learning rates; the script looks before it does.",
        "B": "then the checkpoint of the first run would be lost with the first one of the second.",
    },
    praise=("The script refuses, because somebody may still need the other training's checkpoint."),
    advice="which of the three could cost somebody days of work, or give a model that nobody "
    "asked for?",
)


def _judge_twice(answer: int) -> str:
    if answer == 20:
        return ""
    return {
        19: "epoch 101 and epoch 120 were both trained twice: count both.",
        50: "so many are between two checkpoints: the run was killed before the next one.",
        100: "these are in the checkpoint, and were not trained again.",
        101: "with that epoch the second life began.",
        120: "those before epoch 101 are in the checkpoint, and were not trained again.",
    }.get(answer, "which epochs does the log tell of, before the run was killed and after?")


twice = Exercise(
    int,
    _judge_twice,
    "The job repeated epochs 101 to 120, and perhaps a few more that the log had no line for.",
    "where did the first life come to, and where did the second one begin?",
    unit="epochs",
)


def seconds_lost(epochs: float) -> float:
    """Return the seconds of an hour that the job of “How often?” loses, by epochs to a checkpoint.

    The seconds of a start are left out: they are the same for every answer.
    """
    seconds = epochs * EPOCH
    return 3600 / seconds * CHECKPOINT + STOPS * seconds / 2


def _judge_every(every: Callable[..., Any]) -> str:
    answer = number(every, EPOCH, CHECKPOINT, 3600 / STOPS)
    if answer < 1 or not answer.is_integer():
        return f"it returns {answer:g}; a flag wants a whole number of epochs from 1 up."
    if seconds_lost(answer) <= 1.02 * min(seconds_lost(epochs) for epochs in range(1, 100)):
        often = number(every, EPOCH, CHECKPOINT, 450.0)
        return "" if often < answer else "with more stops it has to save more often."
    seconds = f"an hour then loses {seconds_lost(answer):.0f} seconds"
    if abs(answer - (2 * CHECKPOINT * 3600 / STOPS) ** 0.5) < 2:
        return f"so many seconds, yes; but the flag counts epochs ({seconds})."
    if answer < 9:
        return f"{seconds}, most of them in checkpoints."
    return f"{seconds}, most of them in work that is done again."


every = function(
    _judge_every,
    "The best interval is 379 seconds, about nine epochs. One epoch more or less makes hardly "
    "any difference.",
    "put some numbers of epochs, as seconds, into lost_per_hour(), or use the square root.",
)

# The job of the exercise “Without checkpoints”: hours, and dollars an hour.
NEEDED, BEFORE_STOP, LIST_PRICE, SPOT_PRICE = 10, 7, 1.00, 0.40


def _judge_spot(answer: float) -> str:
    told = {
        (NEEDED + BEFORE_STOP) * SPOT_PRICE: "",
        NEEDED * SPOT_PRICE: "the hours before the stop are paid, too.",
        NEEDED * LIST_PRICE: "that is the job on a machine at the list price.",
        NEEDED + BEFORE_STOP: "so many hours, yes; at which price?",
        (NEEDED - BEFORE_STOP) * SPOT_PRICE: "where could it resume, and the first seven hours?",
        BEFORE_STOP * SPOT_PRICE: "those are the hours before the stop; and those after it?",
        BEFORE_STOP * SPOT_PRICE + NEEDED: "after the stop it is a spot job still.",
    }
    near = (why for dollars, why in told.items() if abs(answer - dollars) < 0.01)
    return next(near, "how many hours do the machines run before the stop, and how many after it?")


spot = Exercise(
    float,
    _judge_spot,
    "The seven hours are lost, so you pay for seventeen. After two more such interruptions the "
    "job would cost more than at the list price.",
    "without a checkpoint, at which hour of its work does the job begin after the stop?",
    unit="dollars",
)

workers = choice(
    "B",
    {
        "A": "it is empty: the machine is a new one, and only the first replica saves.",
        "C": "then two different models would be averaged step by step.",
    },
    praise=(
        "All copies are equal, so the new replica can use replica 0's checkpoint. With model "
        "parallelism it could not."
    ),
    advice="with data parallelism, what does replica 1 hold that replica 0 does not?",
)
