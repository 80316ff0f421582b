"""The exercises of episode 02, Train on your own machine."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lesson import ROOT, LessonError
from lesson.exercises import Exercise
from lesson.exercises.coded import call, function, number
from lesson.runs import Run

if TYPE_CHECKING:
    import pandas as pd

CSV = ROOT / "data" / "titanic_train.csv"


def _parts() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """The training part, the validation part, and all passengers of the episode's table."""
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
        return "a share lies between 0 and 1."
    return "count the passengers of val_part for whom the guess is right; divide by all of them."


guess = Exercise(
    float,
    _judge_guess,
    "A model that scores less has learned nothing at all.",
    "val_part['Survived'].mean() is the share that survived; the guess is right about the rest.",
)


def _judge_fare(answer: float) -> str:
    train, val, everybody = _parts()
    medians = [part["Fare"].median() for part in (train, everybody, val)]
    if abs(answer - medians[0]) < 0.001:
        return ""
    if min(abs(answer - median) for median in medians[1:]) < 0.001:
        return "the validation part has a say in that number, so it is no longer unseen."
    return "it is a median of Fare, and the question is over which rows."


fare_for_gaps = Exercise(
    float,
    _judge_fare,
    "Only the training part may decide how a gap is filled, in any row, now or later.",
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
    "Eight steps of 64 rows and a short one of 57.",
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
    "Read the first lines of a run: they say what it was told, and what it ignored.",
    "the list that --help prints has a flag for how far a step moves the weights.",
)


def _judge_network(my_model: Callable[..., Any]) -> str:
    import torch

    def logit(activation: Callable[..., Any]) -> float:
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(0)  # as train_nn.build_model() does
            widths = ((7, 64), (64, 32), (32, 1))
            first, second, last = (torch.nn.Linear(*each) for each in widths)
            return float(last(activation(second(activation(first(torch.zeros(1, 7)))))).item())

    model = call(my_model, 7, [64, 32], 0)
    if not isinstance(model, torch.nn.Module):
        return f"it returns a {type(model).__name__}, not a network."
    answer = number(model, torch.zeros(1, 7))
    if abs(answer - logit(torch.tanh)) < 1e-4:
        return ""
    if abs(answer - logit(torch.relu)) < 1e-4:
        return "that is what the network with ReLU answers."
    return "both ReLU layers become Tanh, and the rest, the seed too, stays the same."


network = function(
    _judge_network,
    "In a copy of the script, this is a change of one line in build_model().",
    "a Sequential is a list of layers: make a new one, with Tanh() where the old one has a ReLU.",
)


def _judge_loss(my_loss: Callable[..., Any]) -> str:
    import torch

    y = torch.tensor([1.0, 0.0, 0.0, 0.0])
    result, survived = number(my_loss, torch.zeros(4), y), 0.25
    log_2 = math.log(2)
    if abs(result - (1 + survived) * log_2) < 1e-3:
        return ""
    if abs(result - log_2) < 1e-3:
        return "there all count alike; pass pos_weight, too."
    if abs(result - (2 - survived) * log_2) < 1e-3:
        return "there those who did not survive count twice."
    return "it is the mean loss with a pos_weight of 2."


loss = function(
    _judge_loss,
    "In a copy of the script, this is one more argument in sum_losses().",
    "pos_weight=torch.tensor(2.0) makes each row whose label is 1 count twice.",
)


def _judge_data(with_family: Callable[..., Any]) -> str:
    import numpy as np

    rows = np.arange(21.0).reshape(3, 7)
    result = np.asarray(call(with_family, rows))
    if result.shape == (3, 7):
        return "there are still seven columns."
    if result.shape != (3, 8):
        return f"of 3 rows of 7 columns it makes the shape {result.shape}, not (3, 8)."
    if not np.array_equal(result[:, :7], rows):
        return "the seven columns have to stay where they are; the new one comes last."
    if not np.array_equal(result[:, 7], rows[:, 3] + rows[:, 4]):
        return "the new column is the sum of columns 3 and 4, counted from 0."
    return ""


data = function(
    _judge_data,
    "The network has 64 weights more, one for each unit of the first layer; the script is the "
    "same.",
    "np.column_stack([X, one_column]) adds a column; X[:, 3] is one of the two to be added up.",
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
        return "there the training loss is lowest, but on rows that the model has seen."
    return "it is the epoch at which the validation loss, the dashed line, is lowest."


best_epoch = Exercise(
    int,
    _judge_best_epoch,
    "From there on the network learns its training rows by heart: it overfits.",
    "history['val_loss'].idxmin() is the position of the lowest value; epochs count from 1.",
)
