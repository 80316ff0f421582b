"""The exercises of episode 01, why rent a machine."""

from __future__ import annotations

from lesson.exercises import Exercise
from lesson.exercises.kinds.letters import in_order, one_each, some

HOURLY = 0.23  # ml.m5.xlarge, as in AWS_helpers/costs.py, which a test compares
WEEKEND = 64  # hours from Friday, 17:00, to Monday, 9:00


stay_or_go = one_each(
    "BCA",
    "ABC",
    wrong=[
        "in the first, the meeting is over before a rented machine is ready.",
        "in the second, it is one training: what does the GPU make of its 30 hours?",
        "in the third, what keeps the forty from running at the same time?",
    ],
    praise="The first run beats the wait, a GPU turns 30 hours into 3, and forty can run at once.",
    advice="calculate for each how long it takes here, and how long there, the five minutes "
    "included.",
)

order = in_order(
    [
        ("D", "F", "the job reads its data: it has to be in the bucket first."),
        ("F", "C", "the service looks for a machine only after the notebook has sent the job."),
        ("C", "A", "the script needs a machine with its software to run on."),
        ("A", "E", "the results come from the training."),
        ("E", "B", "the notebook can fetch only results that are in the bucket."),
    ],
    {},
    praise="C, A and E happen on the rented machine. You pay for A and E, and for a part of C.",
    advice="begin with what has to be in the bucket, and end with what you want to have here.",
)

true_here = some(
    {
        "A": "A is missing: which process calculated the accuracy in the table?",
        "B": "B is missing: it is the same script, with the same flags.",
        "E": "E is missing: the local cloud has no quotas, so it accepts a job with a GPU.",
    },
    {
        "C": "C is false: the real service first has to find a machine, and that has other cores.",
        "D": "D is false: the job's process does not need your notebook.",
    },
    praise="The local cloud runs what you send. It has no quotas, no other machines and no waiting "
    "times.",
    advice="which of them are about the script, and which about machines and accounts?",
)


def _judge_weekend(answer: float) -> str:
    if abs(answer - WEEKEND * HOURLY) <= 0.01:
        return ""
    if abs(answer - WEEKEND) < 0.01:
        return "those are the hours; what does each of them cost?"
    if abs(answer - HOURLY) < 0.005:
        return "that is one hour."
    if any(abs(answer - hours * HOURLY) <= 0.01 for hours in (16, 40, 48, 88)):
        return "count the hours again: the rest of Friday, two whole days, and Monday morning."
    return "count the hours from Friday to Monday, and multiply by the price of one."


weekend = Exercise(
    float,
    _judge_weekend,
    "The machine ran for 64 hours. With a GPU it would cost several times as much.",
    "estimate_cost takes hours=, and what it returns has .usd.",
    unit="dollars",
)
