"""The exercises of episode 12, Tuning; and a study that was recorded, to be read in one of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.functions import function, number
from lesson.exercises.kinds.jobs import Record, job_to_send, not_succeeded
from lesson.exercises.kinds.letters import choice
from lesson.jobs.states import FAILED, SUCCEEDED
from lesson.jobs.studies import Between, Study, Trial, Value, between, one_of

TRIALS, MINUTES = 5 * 4 * 4 * 3, 3  # the grid of the exercise "The bill of a grid"


def _judge_bill(answer: float) -> str:
    if math.isclose(answer, TRIALS * MINUTES / 60, rel_tol=0.001):
        return ""
    if answer == TRIALS:
        return "that is the number of trials; how many hours of machines is it?"
    if answer == TRIALS * MINUTES:
        return "that is the number of minutes; the price is by the hour."
    if math.isclose(answer, (5 + 4 + 4 + 3) * MINUTES / 60):
        return "that tries each value once; a grid tries every combination."
    if math.isclose(answer, TRIALS * MINUTES / 60 / 2):
        return "two at a time take half of the time, on twice the machines."
    return "multiply: values of each of the four, then the minutes of a trial."


bill = Exercise(
    float,
    _judge_bill,
    f"The grid has {TRIALS} trials. A fifth parameter with four values would make it {4 * TRIALS}.",
    "how many combinations are there of 5 values, 4, 4 and 3?",
    unit="hours",
)

RANGES = {  # of the exercise "Which scale?"; what is said about another scale
    "learning_rate": (
        between(0.00001, 0.1, scale="log"),
        "from 0.00001 to 0.1 are four powers of ten, and each deserves trials.",
    ),
    "dropout": (
        between(0, 0.5),
        "0 has no logarithm, and 0.1 more dropout is the same step everywhere.",
    ),
    "momentum": (
        between(0.9, 0.999, scale="reverse log"),
        "the step from 0.99 to 0.999 averages over ten times as many gradients as before.",
    ),
    "layers": (
        between(1, 4),
        "from one layer to two is one layer more, as from three to four.",
    ),
}


def _judge_scales(space: Any) -> str:
    if not isinstance(space, dict):
        return "the answer is a dictionary: between(…) under each of the four names."
    if missing := [name for name in RANGES if name not in space]:
        return f"there is no {missing[0]!r} in it yet."
    for name, (right, why) in RANGES.items():
        given = space[name]
        if not isinstance(given, Between):
            return f"{name}: write between(low, high, scale=…)."
        if (given.low, given.high) != (right.low, right.high):
            return f"{name}: the range is from {right.low:g} to {right.high:g}."
        if given.scale != right.scale:
            return f"{name}: {why}"
    return ""


scales = Exercise(
    object,
    _judge_scales,
    "The learning rate and 1 − momentum span powers of ten, so each power gets as many trials. "
    "The other two do not.",
    "in which steps would you try the values by hand: adding, multiplying, or coming closer to 1?",
    kind="write",
)


def _judge_pairs(wins: Callable[..., Any]) -> str:
    one, other = [1, 5, 2, 3, 4, 5], [1, 1, 1, 4, 9, 9]
    answer = number(wins, one, other)
    if answer == 3:
        return "" if number(wins, [2.0], [1.0]) == 0 else "one 2 against one 1 does not win."
    if answer == 2:
        return "so often the other one won, or it counts who is higher."
    if answer == 4:
        return "that counts a draw as well, where both found the same."
    return f"of {one} against {other} three are lower, and it returns {answer:g}."


pairs = function(
    _judge_pairs,
    "In the pairs that random search wins, a single study of each kind would have misled you.",
    "zip(one, other) gives the pairs; then count those whose first number is lower.",
)


def _judge_informed(answer: int) -> str:
    if answer == 8:
        return ""
    return {
        14: "that is one at a time; the second eight start when only eight results are known.",
        16: "the second eight start when only eight results are known.",
        24: "the first eight start without any result.",
        3: "that is the number of rounds; how many trials have ten results before them?",
        0: "the last eight start when sixteen results are known.",
    }.get(answer, "go through the rounds: how many results are known when each starts?")


informed = Exercise(
    int,
    _judge_informed,
    "Only the last eight know ten results. One at a time, 14 would, in two hours instead of 15 "
    "minutes.",
    "there are three rounds: what is known when each of them starts?",
    unit="trials",
)


def _judge_tag(record: Record) -> str:
    if not record.status.trials:
        return "this is not a study: make one with tuning_job(), and run it."
    if record.spec.name != "titanic-fixed":
        return f"this is {record.spec.name}; send a new study, called titanic-fixed."
    if record.status.state == FAILED:
        return "no trial counted again: the reasons say which tags arrived."
    return not_succeeded(record)


tag = job_to_send(
    _judge_tag,
    "The tag of the study and the tag of the script have to be the same, letter by letter.",
    "print the reasons of the trials again: what do they say about those that arrived? The study "
    "minimises.",
)


def _judge_own_study(record: Record) -> str:
    study = record.answer
    if not isinstance(study, Study):
        return "the answer is a study: what tune() returned."
    if set(study.space) != {"learning_rate"}:
        return f"it searches {', '.join(study.space)}; the space has one name, learning_rate."
    rates = study.space["learning_rate"]
    if not isinstance(rates, Between) or rates.scale != "log":
        return "a learning rate is multiplied, not added to: choose its scale."
    if record.status.trials != 6 and record.status.state == SUCCEEDED:
        return f"it has sent {record.status.trials} trials, not 6."
    return not_succeeded(record)


own_study = job_to_send(
    _judge_own_study,
    "The service has sent six training jobs, one for each trial.",
    "the call for Vertex AI, above, is the model: flags, space, trials, parallel.",
)

reading = choice(
    "C",
    {
        "A": "the last trials are close together already, at one end of a range: more of them will "
        "be there, too.",
        "B": "the best is at the end of its range: this study could not see what is beyond.",
        "D": "its importance is nearly zero: whatever you choose, the results stay as they are.",
    },
    praise="The best trials are at the upper end of the learning rate, so better ones may be "
    "beyond it.",
    advice="follow the best line in the middle part: where does it cross each axis?",
)

winner = choice(
    "C",
    {
        "A": "that is the average of the 24; the best of them was chosen because it showed more.",
        "B": "one model in six shows as much, so of 24 some show more.",
    },
    praise="Of 24 equally good models one is lucky on 143 rows, and that one is chosen.",
    advice="one score on 143 rows strays by about 0.03 either way. How far does the luckiest of "
    "24 stray?",
)


def _judge_enough(answer: int) -> str:
    if answer == 59:
        return ""
    return {
        58: "58 give 94.9 per cent: nearly.",
        60: "one less is enough, too.",
        20: "20 trials give 64 per cent: 1 − 0.95²⁰.",
        19: "19 trials give 62 per cent: chances do not add up.",
        24: "24 trials give 71 per cent.",
        90: "that is 1 − 0.95 to the power of 90: 99 per cent.",
    }.get(answer, "all trials miss with a chance of 0.95 to the power of their number.")


enough = Exercise(
    int,
    _judge_enough,
    "The probability that all 59 trials miss is 0.95 to the power of 59, just below 5 per cent, "
    "for two parameters and for ten.",
    "put some numbers into 1 - 0.95**trials, or use math.log.",
    unit="trials",
)

# A study of 24 trials that really ran, of train_nn.py with --epochs=30 --batch_size=64:
# learning_rate, hidden, min_delta, and the validation loss.
ROWS = """
0.0001143 64,32  0.000209  0.5042
0.0009294 128,64 0.0007642 0.3916
0.0005149 16     7.02e-06  0.5079
0.0004381 64,32  0.000696  0.3934
0.0006026 16     2.736e-05 0.4876
6.255e-05 128,64 0.0005274 0.5137
0.0003981 64,32  0.0001331 0.3957
0.0001903 64,32  0.000477  0.4384
3.169e-05 64,32  0.0002849 0.6192
0.0001059 16     0.0007775 0.6158
0.000669  128,64 0.0003174 0.3905
0.0007078 128,64 0.0003696 0.3903
0.0008838 128,64 0.0003928 0.3914
0.0002647 128,64 0.0004737 0.3966
0.000444  128,64 0.0002708 0.3922
0.0003167 128,64 0.000774  0.3942
0.0009098 64,32  0.0002607 0.3855
0.0008075 64,32  0.0001568 0.3858
0.0007528 64,32  0.0001027 0.3864
0.000249  16     0.0002996 0.5788
0.000975  64,32  0.0005569 0.385
0.0009881 64,32  0.0002725 0.3849
0.0008903 64,32  0.0005448 0.3856
0.000735  64,32  0.0008975 0.3864
"""


def _trial(number: int, row: str) -> Trial:
    rate, hidden, delta, result = row.split()
    values: dict[str, Value] = {
        "learning_rate": float(rate),
        "hidden": hidden,
        "min_delta": float(delta),
    }
    return Trial(number, f"trial-{number}", SUCCEEDED, values, float(result))


recorded = Study(
    place="this machine",
    metric="validation_loss",
    goal="minimize",
    trials=tuple(_trial(number, row) for number, row in enumerate(ROWS.split("\n")[1:-1], 1)),
    name="recorded",
    state=SUCCEEDED,
    planned=24,
    space={
        "learning_rate": between(0.00003, 0.001, scale="log"),
        "hidden": one_of("16", "64,32", "128,64"),
        "min_delta": between(0.0, 0.001),
    },
)
