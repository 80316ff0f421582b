"""The exercises of episode 02, Train on your own machine."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lesson import ROOT, LessonError
from lesson.exercises import Exercise
from lesson.jobs.code import SCRIPT, folder_of
from lesson.jobs.runs import Run

if TYPE_CHECKING:
    import pandas as pd

CSV = ROOT / "data" / "titanic_train.csv"


def _parts() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Return the training part, the validation part, and all passengers of the episode's table."""
    from lesson.preparation import read_passengers, split

    passengers = read_passengers(CSV)
    return (*split(passengers), passengers)


def _judge_guess(answer: float) -> str:
    survived = _parts()[1]["Survived"].mean()
    if abs(answer - (1 - survived)) < 0.004:
        return ""
    if abs(answer - survived) < 0.004:
        return "that share survived, so the guess is wrong about them."
    if abs(answer - 0.5) < 0.004:
        return "a coin would score that; this guess always says the same, and one answer is rarer."
    if not 0 <= answer <= 1:
        return "a share is between 0 and 1."
    return "count the passengers of val_part for whom the guess is right; divide by all of them."


guess = Exercise(
    float,
    _judge_guess,
    "62 per cent of these passengers did not survive. A model that scores less has learned "
    "nothing.",
    "val_part['Survived'].mean() is the share that survived; the guess is right about the rest.",
)


def _judge_fare(answer: float) -> str:
    train, val, everybody = _parts()
    medians = [part["Fare"].median() for part in (train, everybody, val)]
    if abs(answer - medians[0]) < 0.001:
        return ""
    if min(abs(answer - median) for median in medians[1:]) < 0.001:
        return "the validation part has influenced that number, so it is no longer unseen."
    return "compute a median of Fare; the question is over which rows."


fare_for_gaps = Exercise(
    float,
    _judge_fare,
    "The training part alone decides what fills a gap, so no validation row influences the "
    "training.",
    "ask which rows the model is allowed to have seen before it is judged.",
)


def _judge_steps(answer: int) -> str:
    if answer == 9:
        return ""
    if answer == 8:
        return "8 steps see 512 rows; the last rows of an epoch are trained on, too."
    if answer in (1, 569):
        return "one step takes 64 rows, neither all of them nor a single one."
    return "divide the 569 rows among steps of 64."


steps = Exercise(
    int,
    _judge_steps,
    "An epoch has eight steps of 64 rows and a short one of 57.",
    "divide the rows by the batch size; what happens with the rows that are left over?",
    unit="steps",
)


def _judge_flag(answer: str) -> str:
    name = answer.strip().split("=")[0].split(" ")[0]
    if name == "--learning_rate":
        return ""
    if name == "--learningrate":
        return "that is the spelling that the script ignored."
    if name.lstrip("-") == "learning_rate":
        return "nearly: long flags begin with two dashes."
    return "run the script with --help and look for how far a step moves the weights."


flag = Exercise(
    str,
    _judge_flag,
    "The script's flag has an underscore. The first lines of a run show which flags it uses, "
    "and which it ignores.",
    "the list that --help prints has a flag for how far a step moves the weights.",
)


FUNCTIONS = (
    ("build_model", "the first one puts layer after layer into a list, and returns the network."),
    ("loss_of_each_row", "the second one compares outputs with y, and gives each row a loss."),
    ("evaluate", "the third one calls model.eval(), and needs no gradients."),
    ("add_up_gradients", "the fourth one is called between backward() and optimizer.step()."),
    ("fit", "the fifth one trains epoch after epoch, and compares each with the best so far."),
)


def _judge_functions(answer: str) -> str:
    given = re.findall(r"\w+", answer)
    if len(given) != len(FUNCTIONS):
        return f"write {len(FUNCTIONS)} names of functions, in the order of the questions."
    for name, (right, advice) in zip(given, FUNCTIONS, strict=True):
        if name != right:
            return f"{name} is not right: {advice}"
    return ""


functions = Exercise(
    str,
    _judge_functions,
    "Every run calls these five: for the network, its loss, its score, the exchange of "
    "gradients, and the loop over the epochs.",
    "the first two are in section 1, the others in section 2, where the fourth one is only called.",
)


def _layers_of(path: str) -> list[Any]:
    """Return the layers of the network that a copy of the script makes, in order."""
    try:
        path = str(folder_of(path) / SCRIPT)
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise LessonError(f"your copy cannot be read: {problem}") from None
    if "def build_model(" not in text:
        raise LessonError("there is no build_model() in that file.")
    try:
        model = runpy.run_path(path)["build_model"](7, [64, 32], 0)
        return list(model.children())
    except Exception as problem:  # noqa: BLE001 - the learner's own code raises anything
        raise LessonError(f"your copy raises {type(problem).__name__}: {problem}") from None


def _judge_own_copy(answer: str) -> str:
    layers = _layers_of(answer)
    kinds = [type(layer).__name__ for layer in layers]
    if "Dropout" not in kinds:
        file = folder_of(answer) / SCRIPT
        return f"the network of {file} has no Dropout yet; have you saved the file?"
    hidden = ["Linear", "ReLU", "Dropout"]
    if kinds != [*hidden, *hidden, "Linear"]:
        kinds_now = ", ".join(kinds)
        return f"the layers are {kinds_now}; a Dropout belongs after each ReLU, and only there."
    shares = {layer.p for layer in layers if type(layer).__name__ == "Dropout"}
    if shares != {0.2}:
        return "your Dropout sets another share than 0.2 to zero."
    return ""


own_copy = Exercise(
    str,
    _judge_own_copy,
    "A Dropout layer follows each ReLU. It acts while the script trains, and not while it "
    "evaluates: look for train() and eval().",
    "a loop of build_model() adds a list of two layers for each width; put a third into the list.",
    kind="write",
)


def _judge_improved(answer: float, original: Run, changed: Run) -> str:
    if not isinstance(original, Run) or not isinstance(changed, Run):
        return "hand both runs to check(), as the cell of the exercise does."
    if original.loss is None or changed.loss is None:
        return "a run has no result yet; train again."
    fall = original.loss - changed.loss
    if abs(fall) < 1e-5:
        return "both runs have the same loss: change the copy, and train it again with code=mine."
    if abs(answer - fall) < 0.0005:
        return ""
    if abs(answer + fall) < 0.0005:
        return "that is the copy's loss minus the original's: subtract the other way round."
    return "subtract the loss of changed_run from that of result; .loss has each."


improved = Exercise(
    float,
    _judge_improved,
    "One comparison on 143 rows proves little: another --seed changes the loss as well.",
    "result.loss and changed_run.loss are the two validation losses.",
)


def _judge_best_epoch(answer: int, run: Run) -> str:
    import pandas as pd

    if not isinstance(run, Run):
        return "hand the run to check(), as the cell of the exercise does."
    try:
        history = pd.read_csv(Path(run.artefacts) / "history.csv")
    except OSError as problem:
        raise LessonError(f"{problem}; train again") from None
    best, lowest = (int(history[name].to_numpy().argmin()) + 1 for name in ("val_loss", "loss"))
    if answer == best:
        return ""
    if answer == best - 1:
        return "that is the place of the row, which counts from 0; epochs count from 1."
    if answer in (lowest, lowest - 1):
        return "in that epoch the training loss is lowest, on rows that the model has seen."
    return "it is the epoch at which the validation loss, the dashed line, is lowest."


best_epoch = Exercise(
    int,
    _judge_best_epoch,
    "After that epoch the validation loss gets no lower, while the training loss still falls: "
    "the network overfits.",
    "history['val_loss'].idxmin() is the position of the lowest value; epochs count from 1.",
)
