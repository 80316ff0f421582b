"""Which parameters of a study matter: the share of each in how much the results differ."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from optuna.trial import FrozenTrial

FEWEST = 4  # trials with a result, below which nothing is said


def parameter_importance(trials: Sequence[FrozenTrial]) -> dict[str, float]:
    """Return each parameter's share, the largest first; they sum to 1. Empty if unknown.

    trials: finished ones with a result, as Optuna keeps them. Optuna's fANOVA: a forest of trees is
    fitted to the results, and its variance is shared out. Unknown for fewer than four trials, for
    results that are all the same, and without scikit-learn, which grows the forest.
    """
    if len(trials) < FEWEST or len({trial.value for trial in trials}) == 1:
        return {}
    if find_spec("sklearn") is None:
        return {}
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)  # not a line for every study
    study = optuna.create_study(direction="minimize")
    study.add_trials(trials)
    judge = optuna.importance.FanovaImportanceEvaluator(seed=0)
    return optuna.importance.get_param_importances(study, evaluator=judge)
