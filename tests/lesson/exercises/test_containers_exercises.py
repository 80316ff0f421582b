"""Every check() of episode 17 rejects the blank and typical wrong answers."""

from __future__ import annotations

from importlib import metadata

from lesson.exercises import containers as exercises
from tests.lesson.exercise_rules import Answers, ExerciseRules

RIGHT = """\
FROM python:3.11
RUN pip install torch==2.13.0
COPY main.py /app/main.py
USER 1000
ENTRYPOINT ["python", "/app/main.py"]
"""

ANSWERS: Answers = {
    "kinds": (
        ["PCPCP", "p, c, p, c, p"],
        [
            ("CCPCP", "first case"),
            ("PPPCP", "second case"),
            ("PCCCP", "third case"),
            ("PCPPP", "fourth case"),
            ("PCPCC", "fifth case"),
            ("PC", "five letters"),
        ],
    ),
    "log": (
        [metadata.version("scikit-learn"), f"scikit-learn {metadata.version('scikit-learn')}"],
        [("1.6.1", "only named"), ("1.2", "of this notebook")],
    ),
    "dockerfile": (
        [
            RIGHT,
            RIGHT.replace("1000", "nobody").replace("3.11", "3.11.14-slim-bookworm"),
            "# mine\n" + RIGHT.replace("install", "install \\\n   "),
            RIGHT.replace("USER 1000", "RUN useradd -m learner\nUSER learner:learner"),
        ],
        [
            (RIGHT.replace("1000", "root:root"), "root's permissions"),
            (RIGHT.replace("1000", "learner"), "no line makes a user learner"),
            (exercises.FAULTY, "name a version"),
            (RIGHT.replace("FROM python:3.11\n", "") + "FROM python:3.11", "comes first"),
            (RIGHT.replace("==2.13.0", ""), "which version of torch"),
            (RIGHT.replace("1000", "root"), "root's permissions"),
            (RIGHT.replace('["python", "/app/main.py"]', "python /app/main.py"), "SIGTERM"),
            (RIGHT.replace("USER 1000\n", ""), "keep all five"),
            (
                "FROM python:3.11\nCOPY main.py /app/main.py\nRUN pip install torch==2.13.0\n"
                'USER 1000\nENTRYPOINT ["python", "/app/main.py"]',
                "Swap the two",
            ),
        ],
    ),
    "words": (
        ["python main.py --lr 1", " python  main.py --lr 1"],
        [
            ("python main.py --epochs 3 --lr 1", "not added"),
            ("--lr 1", "stays"),
            ("python main.py --epochs 3", "does not count"),
            ("python main.py", "whole command"),
        ],
    ),
    "steps": (
        ["DBEAC", "EDBAC", "D, E, B, A, C"],
        [
            ("BDEAC", "before there is a Dockerfile"),
            ("DAEBC", "after it was built"),
            ("DBAEC", "a repository"),
            ("DBECA", "before the job"),
        ],
    ),
}


class TestExercises(ExerciseRules):
    page = "17-containers.md"
    module = exercises
    answers = ANSWERS
