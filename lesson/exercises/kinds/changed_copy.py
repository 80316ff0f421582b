"""The exercise of a changed copy of the script, which trains here and as a job: the losses tell."""

from __future__ import annotations

from typing import Any

from lesson.exercises import Exercise
from lesson.jobs.runs import Run

HERE = "this machine"  # the place of a run of this_machine.train()
SAME = 1e-4  # the losses of one network on two machines


def _judge_own_network(there: Any, mine: Any, original: Any) -> str:
    runs = {"mine_there": there, "mine_here": mine, "here": original}
    for name, run in runs.items():
        if not isinstance(run, Run):
            return f"{name} is not a run yet: put the call of train() there that is in the comment."
    if there.loss is None or mine.loss is None or original.loss is None:
        return "a run has no result yet: wait(…) for its end, and run this cell again."
    if mine.place != HERE:
        return "mine_here is to be trained on this machine, with this_machine.train(…)."
    if there.place == HERE:
        return "mine_there is to be a job: train(flags, code=mine) sends it."
    if abs(mine.loss - original.loss) < SAME:
        return (
            "the copy has the loss of the original: change its network, save the file, and name "
            "the copy with code=mine."
        )
    if abs(there.loss - mine.loss) > SAME:
        return (
            f"the job's loss is {there.loss:.4f}, and that of the copy here {mine.loss:.4f}: give "
            "both the same flags and code=mine, and train both again after a change."
        )
    return ""


def own_network() -> Exercise:
    """Make the exercise for the page of one cloud."""
    return Exercise(
        object,
        _judge_own_network,
        praise="The job trained the network of your copy: its loss is the same as on this machine.",
        advice="the layers are appended in the loop of build_model(); the calls are in comments.",
        kind="send",
    )
