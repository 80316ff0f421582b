"""What the exercise of a changed copy says, which episodes 04 and 07 share."""

from __future__ import annotations

from dataclasses import replace

from lesson.jobs.runs import Run
from tests.lesson.exercise_rules import Answers, ExerciseRules

ORIGINAL = Run("this machine", "", 1, score=0.846, loss=0.3864, artefacts="runs/1")
CHANGED = replace(ORIGINAL, loss=0.3801)
SENT = replace(CHANGED, place="a service")
# The answer is the run of the job; the cell gives the runs of the copy and of the original as well.
OWN_CONTEXT = (CHANGED, ORIGINAL)
OWN_ANSWERS: Answers = {
    "own_network": (
        [SENT, replace(SENT, loss=0.38011)],
        [
            ("mine_there", "mine_there is not a run yet"),
            (CHANGED, "is to be a job"),
            (replace(SENT, loss=0.3864), "give both the same flags"),
            (replace(SENT, loss=None), "no result yet"),
        ],
    )
}


class OwnNetworkRules(ExerciseRules):
    """To be inherited by the tests of a page that has the exercise."""

    def test_a_copy_without_a_change_is_said_to_have_none(self) -> None:
        there = replace(ORIGINAL, place=SENT.place)
        assert "change its network" in self.said("own_network", there, ORIGINAL, ORIGINAL)
        assert "is to be trained on this" in self.said("own_network", there, SENT, ORIGINAL)
