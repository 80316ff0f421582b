"""The exercises of episode 06, Bring the data to Amazon S3."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lesson.exercises import Exercise
from lesson.exercises.kinds.letters import some

GB_MONTH = 0.023  # US dollars, as in AWS_helpers/helpers.py, which a test compares
CHANNELS = "/opt/ml/input/data"
THERE, VAL = "there/val_data.npz", Path("runs/data/val_data.npz")


leak = some(
    {
        "B": "one more line uses all rows: look at the value that fills a gap.",
        "D": "one more line uses all rows: look at the scaling of X.",
    },
    {
        "A": "reading rows computes nothing from them.",
        "C": "choosing columns computes nothing from the rows.",
        "E": "line E is the split itself: the question is what happens before it.",
    },
    praise="The median and the scaler are fitted before line E, so the validation rows "
    "change both.",
    advice="look for a line that would give other numbers if a fifth of the rows were not in the "
    "table.",
)

ONE_MORE = "your answer is true, and so is one more statement."
claims = some(
    {"B": ONE_MORE, "D": ONE_MORE},
    {
        "A": "A is false: savez stores the arrays as they are, savez_compressed compresses.",
        "C": "C is false: for an archive mmap_mode has no effect.",
        "E": "E is false: a DataLoader takes rows in memory, not files.",
    },
    praise="An npz archive is a zip file of whole arrays under their names.",
    advice="two of the five are true; what can be found out about an array without reading all of "
    "it?",
)


def _judge_there(again: Any, s3: Any, bucket: str) -> str:
    from botocore.exceptions import ClientError

    if not hasattr(s3, "head_object") or not isinstance(bucket, str):
        return "hand s3 and session.bucket to check(), as the cell of the exercise does."
    try:
        size = s3.head_object(Bucket=bucket, Key=THERE)["ContentLength"]
    except ClientError:
        return f"the bucket has no object with the key {THERE}."
    if size != VAL.stat().st_size:
        return f"the object has {size} bytes; runs/data/val_data.npz has {VAL.stat().st_size}."
    if "X_val" not in getattr(again, "files", ()):
        return "the object is there; read it with numpy.load, which takes a file or a BytesIO."
    if VAL.samefile(again.zip.filename or "/"):
        return "the object is there, but `again` is the file on this machine: read the object."
    return ""


there = Exercise(
    object,
    _judge_there,
    "The object is in the bucket, and has the rows that you sent.",
    "the cells above do both with the training archive: a call with upload, a call with get, and "
    "then BytesIO.",
    kind="write",
)


def _judge_prefix(answer: int) -> str:
    if answer == 3:
        return ""
    if answer == 1:
        return "the archive is one of them; which other keys begin with the same letters?"
    if answer == 2:
        return "one more key begins with data/train, although a slash comes later in it."
    if answer == 4:
        return "data/val_data.npz does not begin with data/train."
    return "count the keys whose first letters are data/train."


prefix = Exercise(
    int,
    _judge_prefix,
    "A prefix is the first letters of a key, not a folder. Use whole URIs, or a slash at the end.",
    "write the four keys that begin with data/ below each other, and compare their first ten "
    "letters.",
    unit="objects",
)


def _judge_price(answer: float) -> str:
    right = 10 * 40 * 12 * GB_MONTH
    if abs(answer - right) < 0.5:
        return ""
    if abs(answer - right / 12) < 0.05:
        return "that is one month; they are kept for a year."
    if abs(answer - right / 10) < 0.05:
        return "that is one version; they keep ten."
    if abs(answer - right / 120) < 0.005:
        return "that is one version for one month."
    return "ten versions of 40 GB, for twelve months, at the price per GB and month."


price = Exercise(
    float,
    _judge_price,
    "Nine tenths of the cost is for versions that nobody uses: keep the raw table, the code, and "
    "one version.",
    "how many GB are stored in all, and how many months? helpers.GB_MONTH is the price of one GB "
    "for one month.",
    unit="dollars",
)


def _judge_channel(answer: str, address: str) -> str:
    key = str(address).removeprefix("s3://").partition("/")[2]
    name = key.rpartition("/")[2]
    if answer == f"{CHANNELS}/val/{name}":
        return ""
    if answer.startswith("s3:/"):
        return "the script opens a file; the URI is where SageMaker copies it from."
    if answer == f"{CHANNELS}/{name}":
        return "each channel has its own folder, with the channel's name."
    if answer in (f"{CHANNELS}/{key}", f"{CHANNELS}/val/{key}"):
        return "leave out the key's data/: the path has the channel's name and the file's."
    if answer == f"{CHANNELS}/train/{name}":
        return "that is the folder of the other channel."
    if answer.rstrip("/") == f"{CHANNELS}/val":
        return "that is the folder; the file in it has a name, too."
    return "compare the two columns of the line above in the table."


channel = Exercise(
    str,
    _judge_channel,
    "The folder has the channel's name, and the file has the last part of the object's key.",
    "take the path of the training archive, and change what belongs to the other channel and to "
    "the other object.",
)
