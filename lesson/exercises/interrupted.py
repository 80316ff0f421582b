"""The exercises of episode 11, Interrupted jobs."""

from __future__ import annotations

from lesson.exercises import Exercise, choice, letters

# The job of the exercise “How often?”: seconds of an epoch, of a checkpoint, stops in an hour.
EPOCH, CHECKPOINT, STOPS = 40.0, 10.0, 0.5


def _judge_missing(answer: str) -> str:
    given = set(letters(answer, "E"))
    if not given:
        return "write letters from A to E, as in 'AB'."
    if "C" in given:
        return "the rows are read again at every start; they do not change while it trains."
    if "E" in given:
        return "the next step does not look at the log or at a picture."
    return {
        "ABD": "",
        "AB": "when would the run that goes on stop early?",
        "AD": "whose weights would it keep at the end, if the best epoch was before the stop?",
        "BD": "in which order would the rows of the next epoch come?",
    }.get("".join(sorted(given)), "more than that is missing.")


missing = Exercise(
    str,
    _judge_missing,
    "The order of the rows, the best weights so far, and how long ago they were found.",
    "go through the loop of a training with early stopping: what does each line read that an "
    "earlier epoch has left behind?",
)


def _judge_order(answer: str) -> str:
    given = letters(answer, "E")
    if not given:
        return "write letters from A to E, in order, as in 'ABCD'."
    if len(set(given)) < len(given):
        return "each line is needed once at most."
    if "C" in given:
        return "killed in the middle of that line, it leaves a half under the name of a whole."
    if len(given) < 4:
        return "four of the five lines are needed."
    if given.index("A") < given.index("B"):
        return "killed after the old one is gone and before the new one has its name, it has none."
    if given.index("B") < given.index("D"):
        return "a name for what is not written yet."
    if given.index("E") < given.index("D"):
        return "nothing has been written yet that could be brought to the disk."
    if given.index("E") > given.index("B"):
        return "without power between these two, the name is on the disk and the content is not."
    return ""


order = Exercise(
    str,
    _judge_order,
    "Whenever it is killed, a whole checkpoint lies under its name: the old one or the new one.",
    "after each line, ask what is there if the machine goes away now.",
)

folder = choice(
    "C",
    {
        "A": "the weights would be trained at two learning rates; the script looks before it does.",
        "B": "then the checkpoint of the first run would be lost as soon as two newer ones are "
        "there.",
    },
    "What was trained in another way is no help here, and somebody may still want it.",
    "which of the three could cost somebody days of work, or give a model that nobody asked for?",
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
    "Epochs 101 to 120, and perhaps a few more that the log had no line for.",
    "where did the first life come to, and where did the second one begin?",
)


def lost(epochs: float) -> float:
    """Seconds of an hour that the job of “How often?” loses, with so many epochs to a checkpoint.

    The seconds of a start are left out: they are the same for every answer.
    """
    seconds = epochs * EPOCH
    return 3600 / seconds * CHECKPOINT + STOPS * seconds / 2


def _judge_every(answer: int) -> str:
    if answer < 1:
        return "a whole number of epochs from 1 up."
    if lost(answer) <= 1.02 * min(lost(epochs) for epochs in range(1, 100)):
        return ""
    seconds = f"an hour then loses {lost(answer):.0f} seconds"
    if abs(answer - (2 * CHECKPOINT * 3600 / STOPS) ** 0.5) < 2:
        return f"so many seconds, yes; but the flag counts epochs ({seconds})."
    if answer < 9:
        return f"{seconds}, most of them in checkpoints."
    return f"{seconds}, most of them in work that is done again."


every = Exercise(
    int,
    _judge_every,
    "About six minutes. One epoch more or less makes next to no difference.",
    "put some numbers of epochs, as seconds, into lost_per_hour(), or use the square root.",
)

workers = choice(
    "B",
    {
        "A": "it is empty: the machine is a new one, and only the first replica saves.",
        "C": "then two different models would be averaged step by step.",
    },
    "All copies are alike, so one checkpoint is all; model parallelism is different.",
    "with data parallelism, what does replica 1 hold that replica 0 does not?",
)
