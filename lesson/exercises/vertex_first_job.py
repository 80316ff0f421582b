"""The exercises of episode 04, Your first job on Vertex AI."""

from __future__ import annotations

import re

from lesson.exercises import Exercise
from lesson.exercises.kinds import changed_copy
from lesson.exercises.kinds.jobs import Record, job_to_send, not_cancelled, not_succeeded

HOURLY = 0.21849885  # of n1-standard-4, as in GCP_helpers/costs.py, which a test compares


def _judge_price(answer: float) -> str:
    right = HOURLY * 20 * 6 / 60
    if abs(answer - right) < 0.01:
        return ""
    if abs(answer - HOURLY * 20 * 1 / 60) < 0.005:
        return "you pay for a machine from its start, so the minutes before the training count."
    if abs(answer - HOURLY * 6 / 60) < 0.003:
        return "that is the price of one of the twenty jobs."
    if abs(answer - HOURLY * 20) < 0.1:
        return "that would be twenty hours; the machines run for minutes."
    return "twenty jobs of six minutes each, at the machine's price by the hour."


price = Exercise(
    float,
    _judge_price,
    "The twenty jobs cost less than half a dollar, and five of six minutes are not spent on "
    "training.",
    "estimate_cost('n1-standard-4', hours=...).usd gives the dollars; how many hours are they "
    "all together?",
    unit="dollars",
)


def _judge_right_class(answer: str) -> str:
    name = re.sub(r"\(.*|\s", "", answer).rpartition("aiplatform.")[2]
    if name == "CustomJob.from_local_script":
        return ""
    if name == "CustomJob":
        return "that is the constructor that does not know script_path; print the TypeError again."
    if name == "CustomTrainingJob":
        return "that one takes a script, but runs it in one of Google's own images only."
    if name == "CustomPythonPackageTrainingJob":
        return "that one requires a package that you have built and uploaded yourself."
    if name == "CustomContainerTrainingJob":
        return "that one runs a command in an image that already holds your script."
    return "name a call of google.cloud.aiplatform that takes script_path and container_uri."


right_class = Exercise(
    str,
    _judge_right_class,
    "This call packs the script, and the job runs it in any image that has Python.",
    "you have used it on this page: which call in new_job() got script_path?",
)


def _judge_failed_filter(answer: str) -> str:
    match = re.fullmatch(r"""\s*state\s*=\s*(["']?)(\w+)\1\s*""", answer)
    if match is None:
        return 'write it as the filter above, state="...", with another state.'
    if match[2] == "JOB_STATE_FAILED":
        return ""
    if match[2] == "PIPELINE_STATE_FAILED":
        return "a training pipeline has this state; these are custom jobs."
    if match[2].upper() == "FAILED":
        return "write the state's whole name, as job.state.name does."
    return "the table above has the state of a job that ended with an error."


failed_filter = Exercise(
    str,
    _judge_failed_filter,
    "The service compares each job's state with this filter, and returns only the failed ones.",
    "take the filter of the running jobs, and the name of another state from the table.",
    kind="write",
)


def _judge_cancelled(record: Record) -> str:
    if record.spec.machine != "n1-standard-8":
        return f"it was sent to an {record.spec.machine}: name the other machine type."
    return not_cancelled(record)


cancelled = job_to_send(
    _judge_cancelled,
    "Your job ran until you cancelled it; on the real service you pay for that time.",
    "the cells above do all of this with the job slow; which line names the machine type?",
)


def _judge_fixed(record: Record) -> str:
    if not record.spec.name.startswith("titanic-fixed"):
        return f"this is {record.spec.name}; make a new job, called titanic-fixed, and run it."
    return not_succeeded(record)


fixed = job_to_send(
    _judge_fixed,
    "The last line of the log named the flag, the archive and the missing array.",
    "find the line that begins with train_nn.py: and ask which archive has an array X_train.",
)


def _judge_compared(record: Record) -> str:
    if record.epochs < 3000:
        return f"this one was to train for {record.epochs:.0f} epochs; give it 3,000."
    if str(record.spec.flags.get("patience")) not in ("0", "0.0"):
        return "without a patience of 0 it stops early, after a few hundred epochs."
    return not_succeeded(record)


compared = job_to_send(
    _judge_compared,
    "Only the training takes longer: in a small job you pay mostly for start-up, in a large one "
    "mostly for training.",
    "the cell that made `run` has the call: change its epochs, and add patience.",
)

own_network = changed_copy.own_network()
