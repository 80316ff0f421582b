"""The exercises of episode 13, Keep track."""

from __future__ import annotations

from lesson.exercises import Exercise, choice, letters

# The learning rate of the run whose model carries the alias `champion` at the end of the page.
CHAMPION = 0.03


def _judge_record(answer: str) -> str:
    given = set(letters(answer, "F"))
    if not given:
        return "write letters from A to F, as in 'AB'."
    if "E" in given:
        return "a curve tells how good the run was; the training does not read it."
    if "F" in given:
        return "a folder can be renamed, and another run can write into it."
    return {
        "ABCD": "",
        "ABC": "another version of torch, or another processor, may round in another way.",
        "ABD": "the same flags mean something else to another version of the script.",
        "ACD": "the name of a file does not tell which rows were in it on that day.",
        "BCD": "with which learning rate would you train?",
    }.get("".join(sorted(given)), "more than that has an effect on the weights.")


record = Exercise(
    str,
    _judge_record,
    "Flags, rows, script and versions make the model; all else is about it.",
    "what would have to be equal on another machine, so that the same weights come out?",
)

mixed = choice(
    "C",
    {
        "A": "to TensorBoard a run is a folder, and here there is one.",
        "B": "so it is with many writers; but this script says at its start that it begins anew, "
        "and TensorBoard forgets the steps before.",
        "D": "nothing looks whether the folder is empty.",
    },
    "The curve is that of the second training, the flags are those of the first.",
    "the curves and the flags are two kinds of records; which of two does each keep?",
)

wrong_run = choice(
    "B",
    {
        "A": "then no run is open, and log_metrics raises an error; better than a wrong table, but "
        "no mend.",
        "C": "a run of this name exists, and start_run refuses to make another.",
        "D": "it sets the experiment, which was right; it closes the run, and opens none.",
    },
    "Each number goes to the run that it is named after, in whatever order they end.",
    "log_metrics has no argument for the run; what decides to which one it writes?",
)

register = choice(
    "B",
    {
        "A": "it was judged on 40 rows; with others it could be the worst of the three.",
        "C": "the rows that chose it are the rows that judge it: that is a good mark for learning "
        "by heart.",
    },
    "Many rows, and none that it was trained on or chosen by.",
    "look at the last two columns first, and only then at the accuracy.",
)


def _judge_promote(answer: str) -> str:
    order = letters(answer, "E")
    if not order:
        return "write letters from A to E, in order, as in 'ABCD'."
    if len(set(order)) < len(order):
        return "each line is needed once at most."
    if "E" in order:
        return "without the old version there is no way back."
    if len(order) < 4:
        return "four of the five lines are needed."
    if order.index("B") > order.index("A") or order.index("B") > order.index("D"):
        return "there is nothing yet that could be compared or named."
    if order.index("C") < order.index("A"):
        return "whoever loads the champion in between gets a model that nobody has compared."
    if order.index("D") < order.index("C"):
        return "what is loaded by its alias is still the old one."
    return ""


promote = Exercise(
    str,
    _judge_promote,
    "The name that others use moves last, in one step, and the old version stays for the way back.",
    "at each moment somebody may load the champion: which model do they get?",
)


def _judge_lineage(answer: float) -> str:
    if abs(answer - CHAMPION) < 1e-9:
        return ""
    if abs(answer - 0.003) < 1e-9:
        return "that is version 1; the alias has moved."
    if answer in (1, 2):
        return "a number of a version; look into metrics.json beside its model.pt."
    return "no run here had that learning rate; read it out of metrics.json, under configuration."


lineage = Exercise(
    float,
    _judge_lineage,
    "From an alias to a version, from the version to its files, from these to every flag.",
    "a model tells by .uri where its files lie, and metrics.json lies among them.",
)
