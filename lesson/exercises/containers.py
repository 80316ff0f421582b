"""The exercises of episode 17, Containers."""

from __future__ import annotations

import re
from importlib import metadata

from lesson.exercises import Exercise
from lesson.exercises.kinds.letters import in_order, one_each

kinds = one_each(
    "PCPCP",
    "PC",
    wrong=[
        "first case: a prebuilt image has both packages.",
        "second case: a system package is no Python package, and a job cannot install it.",
        "third case: pip installs a pure Python package when the job begins.",
        "fourth case: no prebuilt image has both frameworks in versions that fit each other.",
        "fifth case: which code a job runs is no matter of the image.",
    ],
    praise=(
        "ffmpeg and a second framework have to be in the image. pip adds a small package when "
        "the job begins, and a script may change without a new image."
    ),
    advice="ask of each: could `requirements` of the job add what is missing?",
)


def _judge_log(version: str) -> str:
    given = version.strip().removeprefix("scikit-learn").strip(" =")
    if given == metadata.version("scikit-learn"):
        return ""
    if given.startswith("1.6"):
        return "that would be so after `images pull`; the line says that the image was only named."
    return "the job ran with the packages of this notebook: what does sklearn.__version__ say here?"


log = Exercise(
    str,
    _judge_log,
    "The image was not pulled, so the job used the lesson's packages.",
    "read the line up to the semicolon: what was done with the image? import sklearn, and ask for "
    "its __version__.",
)

FAULTY = """\
FROM python:latest
COPY main.py /app/main.py
RUN pip install torch
USER root
ENTRYPOINT python /app/main.py
"""


def _judge_dockerfile(text: str) -> str:
    whole = re.sub(r"\\\n", " ", text)  # a line may go on in the next
    lines = [line.split(maxsplit=1) for line in whole.splitlines() if line.strip()]
    lines = [words for words in lines if len(words) == 2 and not words[0].startswith("#")]
    instructions = {words[0].upper(): words[1].strip() for words in lines}
    instructions["RUN"] = "\n".join(words[1] for words in lines if words[0].upper() == "RUN")
    if not all(instructions.get(name) for name in ("FROM", "COPY", "RUN", "USER", "ENTRYPOINT")):
        return "keep all five lines: FROM, COPY, RUN, USER and ENTRYPOINT."
    if lines[0][0].upper() != "FROM":
        return "FROM comes first: the other lines add to that image."
    if not re.fullmatch(r"python:3\.\d+[\w.-]*", instructions["FROM"]):
        return "FROM: `latest` is another Python next month; name a version, such as python:3.11."
    if not re.search(r"torch==\d", instructions["RUN"]):
        return "RUN: say which version of torch, or two builds of one file differ."
    user = instructions["USER"].partition(":")[0]
    if user in ("root", "0"):
        return "USER: training needs none of root's permissions; name another user."
    made = user.isdecimal() or user == "nobody"  # which every image of Python has
    if not made and not re.search(rf"(useradd|adduser)\b.*\b{user}\b", instructions["RUN"]):
        return f"USER: no line makes a user {user}; a number, such as 1000, needs none."
    if not re.fullmatch(r'\[\s*"python3?"\s*,\s*"/app/main\.py"\s*\]', instructions["ENTRYPOINT"]):
        return (
            'ENTRYPOINT: as a list in double quotes, ["python", "/app/main.py"]; a line for the '
            "shell gets neither the job's arguments nor its SIGTERM."
        )
    order = [words[0].upper() for words in lines]
    if order.index("COPY") < order.index("RUN"):
        return "COPY before RUN: each change of main.py would install torch again. Swap the two."
    return ""


dockerfile = Exercise(
    str,
    _judge_dockerfile,
    "The versions are fixed, the code comes after the packages, and the process gets arguments and "
    "signals.",
    "one change in each line but COPY, and COPY changes its place.",
    kind="write",
)


def _judge_words(command: str) -> str:
    given = " ".join(command.split())
    if given == "python main.py --lr 1":
        return ""
    if "--epochs" in given and "--lr" in given:
        return "arguments of the job take the place of CMD; they are not added to it."
    if "--epochs" in given:
        return "the job's arguments are there, so CMD does not count."
    if "main.py" not in given:
        return "ENTRYPOINT stays: only a command of the job takes its place."
    return "write the whole command: the words of ENTRYPOINT, then those of args."


words = Exercise(
    str,
    _judge_words,
    "ENTRYPOINT stays, and the job's arguments take the place of CMD.",
    "two lines of the Dockerfile, two fields of the job: which field replaces which line?",
)

steps = in_order(
    [
        ("D", "B", "there is nothing to build before there is a Dockerfile."),
        ("B", "A", "an image is pushed after it was built."),
        ("E", "A", "the registry has to have a repository, and to know you, before you push."),
        ("A", "C", "the service pulls the image from the registry: push it before the job."),
    ],
    {},
    praise="The service pulls the image from the registry, so it has to be there before the job.",
    advice="what does each step need that another one makes?",
)
