"""The exercises of episode 07, Your first job on SageMaker."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lesson.exercises import Exercise
from lesson.exercises.kinds import changed_copy
from lesson.exercises.kinds.jobs import Record, job_to_send, not_cancelled, not_succeeded
from lesson.exercises.kinds.letters import choice
from lesson.jobs.states import CANCELLED

HOURLY = 0.115  # US dollars, of ml.m5.large, as in AWS_helpers/costs.py, which a test compares
# Measured on the real service on 2024-11-03, one ml.m5.large: seconds.
WAITED, BILLED = 197.62, 135


def _judge_price(answer: float) -> str:
    right = HOURLY * 100 * BILLED / 3600
    if abs(answer - right) < 0.01:
        return ""
    if abs(answer - HOURLY * 100 * WAITED / 3600) < 0.01:
        return "that counts the seconds that the notebook waited; fewer of them are billed."
    if abs(answer - right / 100) < 0.0005:
        return "that is the price of one of the hundred jobs."
    if abs(answer - HOURLY * 100) < 0.5:
        return "that would be a hundred hours; the jobs take seconds."
    return "a hundred jobs of 135 billed seconds each, at the price by the hour."


price = Exercise(
    float,
    _judge_price,
    "You pay for the billed seconds; a job this small costs less than half a cent.",
    "estimate_cost('ml.m5.large', hours=...).usd gives the dollars; how many hours are the billed "
    "seconds of all jobs together?",
    unit="dollars",
)

arrival = choice(
    "A",
    {
        "B": "the name does not change: nothing turns an underscore into a hyphen.",
        "C": "there is such a file, but an ordinary script does not have to read it.",
    },
    praise="The SDK's driver writes each hyperparameter as a flag, so a script that reads flags "
    "runs on SageMaker unchanged.",
    advice="train_nn.py was not changed for SageMaker, and reads its settings as it always does.",
)


def _judge_loss_regex(answer: str, lines: Sequence[str]) -> str:
    if not isinstance(lines, list) or not all(isinstance(line, str) for line in lines):
        return "hand the lines of the log to check(), as the cell of the exercise does."
    try:
        pattern = re.compile(answer)
    except (re.error, OverflowError, RecursionError) as problem:
        return f"this is not a regular expression: {problem}."
    if re.search(r"[*+}][^()]*\)+[*+{]", answer):
        return "a repetition of a repetition may take for ever; repeat one thing only."
    matches = [match for line in lines for match in pattern.finditer(line)]
    if pattern.groups == 0:
        return "put parentheses around the part that is the number."
    if not matches:
        return "nothing in the log matches; print lines_of(first) and compare letter by letter."
    values = [_number(match[1]) for match in matches]
    if None in values:
        return f"the group in parentheses reads {matches[values.index(None)][1]!r}: no number."
    if len(matches) > 1:
        return f"{len(matches)} places match, the lines of the epochs among them: make it narrower."
    if "validation:loss" not in matches[0].string:
        return "this reads another number of the log."
    return ""


def _number(text: str | None) -> float | None:
    try:
        return float(text or "")
    except ValueError:
        return None


loss_regex = Exercise(
    str,
    _judge_loss_regex,
    "One line matches, and the parentheses capture the number.",
    "take the regular expression for the accuracy as the model, and look at the log's last line "
    "for the words before the number.",
    kind="write",
)


def _judge_stopped(record: Record) -> str:
    if record.status.word == "MaxRuntimeExceeded":
        return "its limit ended it before you did: stop it sooner."
    return not_cancelled(record)


stopped = job_to_send(
    _judge_stopped,
    "Your job trained until you stopped it; the real service bills that time.",
    "first send it, then a loop with refresh() until it trains, and only then stop() and wait().",
)


def _judge_limited(record: Record) -> str:
    if record.status.word == "MaxRuntimeExceeded":
        return ""
    if record.status.state == CANCELLED:
        return "you stopped this one; send it again, and let its limit end it."
    return not_succeeded(record) or "it has ended before its limit: give it the settings LONG."


limited = job_to_send(
    _judge_limited,
    "At the limit the service stops the job, and keeps the files in /opt/ml/model.",
    "the description of the first job has a limit, too: which class holds its seconds?",
)


def _judge_fixed(record: Record) -> str:
    if not record.spec.name.startswith("titanic-fixed"):
        return f"this is {record.spec.name}; send the job again as titanic-fixed."
    return not_succeeded(record)


fixed = job_to_send(
    _judge_fixed,
    "The folder has the channel's name, and the hyperparameter has to name that folder.",
    "the sentence names a folder below /opt/ml/input/data; which channels does this job have, and "
    "what does SETTINGS say?",
)

billed = choice(
    "B",
    {
        "A": "look at the column `training`: the epochs take a second or so, on any machine.",
        "C": "that time is not billed: the job has no machine yet.",
    },
    praise="In a job this small, most of the billed time is for getting ready and uploading.",
    advice="the column `training` has the seconds of the epochs; what is left of 135?",
)

own_network = changed_copy.own_network()
