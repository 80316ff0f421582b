"""The exercises of episode 04, Your first job on Vertex AI."""

from __future__ import annotations

import re

from lesson.exercises import Exercise
from lesson.exercises.lettered import choice
from lesson.runs import Run

HOURLY = 0.21849885  # of n1-standard-4, as in GCP_helpers/costs.py, which a test compares


def _judge_price(answer: float) -> str:
    right = HOURLY * 20 * 6 / 60
    if abs(answer - right) < 0.01:
        return ""
    if abs(answer - HOURLY * 20 * 1 / 60) < 0.005:
        return "the machine is paid from its start, so the minutes before the training count."
    if abs(answer - HOURLY * 6 / 60) < 0.003:
        return "that is the price of one of the twenty jobs."
    if abs(answer - HOURLY * 20) < 0.1:
        return "that would be twenty hours; the machines run for minutes."
    return "twenty jobs of six minutes each, at the machine's price by the hour."


price = Exercise(
    float,
    _judge_price,
    "Less than a cup of coffee, and five of six minutes are not spent on training.",
    "estimate_cost('n1-standard-4', hours=...).usd gives the dollars; how many hours are they "
    "all together?",
    unit="dollars",
)

second_run = choice(
    "C",
    {
        "A": "the weights of the first run lie in the bucket; nothing reads them back by itself.",
        "B": "it might have been made so, but the SDK ties one object to one job.",
    },
    "One object, one job: make a new CustomTrainingJob for every job that you send.",
    "the object has a resource_name by now: the name of one job.",
)


def _judge_right_class(answer: str) -> str:
    name = re.sub(r"\(.*|\s", "", answer).rpartition("aiplatform.")[2]
    if name in ("CustomTrainingJob", "CustomJob.from_local_script"):
        return ""
    if name == "CustomJob":
        return "that is the class that does not know script_path; print the TypeError again."
    if name == "CustomPythonPackageTrainingJob":
        return "that one wants a package that you have built and uploaded yourself."
    if name == "CustomContainerTrainingJob":
        return "that one runs a command in an image that already holds your script."
    return "name a class of google.cloud.aiplatform that takes script_path and container_uri."


right_class = Exercise(
    str,
    _judge_right_class,
    "It packs the script by itself; so does CustomJob.from_local_script.",
    "you have used it on this page: which class got script_path?",
)


def _judge_failed_filter(answer: str) -> str:
    found = re.fullmatch(r"""\s*state\s*=\s*(["']?)(\w+)\1\s*""", answer)
    if found is None:
        return 'write it as the filter above, state="...", with another state.'
    if found[2] == "PIPELINE_STATE_FAILED":
        return ""
    if found[2] == "JOB_STATE_FAILED":
        return "so it is called for the custom job behind; these are training pipelines."
    if found[2].upper() == "FAILED":
        return "write the state's whole name, as job.state.name does."
    return "the table above has the state of a job that ended with an error."


failed_filter = Exercise(
    str,
    _judge_failed_filter,
    "The service does the search, however many jobs there are.",
    "take the filter of the running jobs, and the name of another state from the table.",
)


def _judge_mended(answer: str, train_npz: str) -> str:
    parts = re.split(r"[ =]+", answer, maxsplit=1)
    flag, value = parts if len(parts) == 2 else ("", answer)
    if value == train_npz and flag in ("", "--train"):
        return ""
    if value.endswith("val_data.npz"):
        return "that archive holds the validation rows, and is the one that the script refused."
    if value.startswith("runs/"):
        return "that file is on this machine, where the job cannot read it."
    if flag and flag != "--train":
        return f"the sentence names --train; {flag} was not complained about."
    return "the sentence says which flag got which archive, and which array it lacks."


fixed = Exercise(
    str,
    _judge_mended,
    "The last line of the log named the flag, the archive, and what was missing in it.",
    "find the line that begins with train_nn.py: and ask which archive has an array X_train.",
)


def _judge_longest(answer: str, run: Run) -> str:
    if not isinstance(run, Run) or run.starting is None:
        return "hand the run of the verb to check(), as the cell of the exercise does."
    parts = {name: getattr(run, name) or 0.0 for name in ("queued", "starting", "training")}
    longest = max(parts, key=lambda name: parts[name])
    name = answer.strip().lower()
    if name == longest:
        return ""
    if name in parts:
        return f"{name} took {parts[name]:.2f} s, and another column has more."
    return f"name one of the columns {', '.join(parts)}."


longest = Exercise(
    str,
    _judge_longest,
    "A job this small waits more than it works, on any cloud.",
    "look along the row of the job: which of its three parts has the most seconds?",
)
