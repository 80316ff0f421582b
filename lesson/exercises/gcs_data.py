"""The exercises of episode 03, Bring the data to Google Cloud."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.letters import choice

NAME, VAL = "data/val_data.npz", Path("runs/data/val_data.npz")

noise = choice(
    "C",
    {
        "A": "the passengers' table shrinks to a fifth because its values repeat; these do not.",
        "B": "that needs digits that follow from others; the digits of noise do not.",
    },
    praise="Compression helps when values repeat, and in noise no value does.",
    advice="which values of the passengers' table occur more than once, and which values of noise?",
)


def _judge_sent(blob: Any) -> str:
    if not hasattr(blob, "upload_from_filename"):
        return "the answer has to be a blob: make it with bucket.blob(…)."
    if blob.name != NAME:
        return f"its name is {blob.name}; call it {NAME}."
    if blob.generation is None:  # an object of that name may come from an earlier upload
        return "making a blob sends nothing: write the line that uploads the archive."
    blob.reload()
    if blob.size != VAL.stat().st_size:
        return f"the object has {blob.size} bytes, and {VAL} has {VAL.stat().st_size}."
    return ""


sent = Exercise(
    object,
    _judge_sent,
    "The object is in the bucket, with the content of the archive.",
    "the cell above does it with the training archive: one line makes a blob, one uploads.",
    kind="write",
)


def _judge_generation(answer: int) -> str:
    if answer == 0:
        return ""
    if answer == 1:
        return "generations are not counted from 1: look at the one of the archive above."
    if answer > 10**12:
        return "with that generation the upload replaces the object that has it."
    return "no object has that generation; the question is which number means “none”."


generation = Exercise(
    int,
    _judge_generation,
    "With 0 the upload works only if there is no such object, so it cannot replace one by mistake.",
    "the generations that you have seen are far above the number that you are looking for.",
)


def _judge_job_path(answer: str, address: str) -> str:
    bucket, _, name = str(address).removeprefix("gs://").partition("/")
    if answer == f"/gcs/{bucket}/{name}":
        return ""
    if answer.startswith(("gs:/", "/gs/")):
        return "in a job the bucket is a folder under /gcs/; its path does not begin with gs:."
    if answer == f"gcs/{bucket}/{name}":
        return "nearly: a path that does not begin with / starts where the job happens to be."
    if answer == f"/gcs/{name}":
        return "the name of the bucket is missing: a job sees all buckets that it may read."
    return "write the path under which a job finds the object of val_npz, name and all."


job_path = Exercise(
    str,
    _judge_job_path,
    "A job sees the bucket below /gcs, so numpy reads this path like any file.",
    "compare the two URIs of the training archive in the table above.",
)

half = choice(
    "A",
    {
        "B": "the script turns every archive into float32 before it trains, also the plain one.",
        "C": "numpy.load unpacks by itself; the script does not have to know.",
    },
    praise="Compression is lossless, and the script always computes in float32.",
    advice="two things have changed: how the bytes are packed, and how many digits a value has. "
    "The line X.astype(np.float32) of train_nn.py settles one of them.",
)
