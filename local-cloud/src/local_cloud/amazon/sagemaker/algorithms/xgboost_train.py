"""Train as the built-in XGBoost does: `python xgboost_train.py /opt/ml`.

Runs as a job of the image, with pandas and xgboost, and nothing of the local cloud. Contract: the
algorithm mode of sagemaker-xgboost-container, and "XGBoost hyperparameters" in the developer guide
(read November 2026). Data are rows of CSV without a header, the label in the first column.
"""

from __future__ import annotations

import csv
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from local_cloud.json_types import Json


CSV = ("csv", "text/csv")
DEFAULT_TYPE = "text/libsvm"  # of a channel that names none
MODEL = "xgboost-model"
# The hyperparameters of the image's table: XGBoost's own, and those of the algorithm around it.
XGBOOSTS = frozenset(
    (
        "booster",
        "verbosity",
        "nthread",
        "eta",
        "learning_rate",
        "gamma",
        "min_split_loss",
        "max_depth",
        "min_child_weight",
        "max_delta_step",
        "subsample",
        "colsample_bytree",
        "colsample_bylevel",
        "colsample_bynode",
        "lambda",
        "reg_lambda",
        "alpha",
        "reg_alpha",
        "tree_method",
        "sketch_eps",
        "scale_pos_weight",
        "updater",
        "dsplit",
        "refresh_leaf",
        "process_type",
        "grow_policy",
        "max_leaves",
        "max_bin",
        "predictor",
        "monotone_constraints",
        "interaction_constraints",
        "sample_type",
        "normalize_type",
        "rate_drop",
        "one_drop",
        "skip_drop",
        "lambda_bias",
        "tweedie_variance_power",
        "objective",
        "num_class",
        "base_score",
        "seed",
        "num_parallel_tree",
        "aft_loss_distribution",
        "aft_loss_distribution_scale",
        "deterministic_histogram",
        "sampling_method",
        "prob_buffer_row",
    )
)
ALGORITHMS = frozenset(
    (
        "num_round",
        "csv_weights",
        "early_stopping_rounds",
        "save_model_on_termination",
        "eval_metric",
        "_tuning_objective_metric",
        "_kfold",
        "_num_cv_round",
        "use_dask_gpu_training",
    )
)
ABSENT = {"_kfold": "cross-validation", "use_dask_gpu_training": "training with Dask"}
# Metrics that the image calculates with its own code.
IMAGES_METRICS = frozenset(
    (
        "accuracy",
        "balanced_accuracy",
        "f1",
        "f1_binary",
        "f1_macro",
        "mse",
        "precision",
        "precision_macro",
        "precision_micro",
        "r2",
        "recall",
        "recall_macro",
        "recall_micro",
    )
)
MAXIMIZED = ("auc", "aucpr", "map", "ndcg")


class UserError(Exception):
    """What the job's sender can put right."""


def main(ml: Path) -> None:
    """Read what the job says, train, and save the model."""
    xgboost: Any = importlib.import_module("xgboost")
    hyperparameters = read_json(ml / "input/config/hyperparameters.json")
    channels = read_json(ml / "input/config/inputdataconfig.json")
    check(hyperparameters)
    rounds = whole_number("num_round", hyperparameters)
    if "train" not in channels:
        raise UserError("Missing required channel: train")
    sets: Json = {
        name: read_channel(ml / "input/data" / name, channels[name], hyperparameters)
        for name in ("train", "validation")
        if name in channels
    }
    rows, columns = sets["train"].num_row(), sets["train"].num_col()
    print(f"INFO:root:Train matrix has {rows} rows and {columns} columns", flush=True)
    metrics = chosen_metrics(hyperparameters)
    parameters: Json = {name: hyperparameters[name] for name in XGBOOSTS & hyperparameters.keys()}
    if metrics:
        parameters["eval_metric"] = metrics
    booster = xgboost.train(
        parameters,
        sets["train"],
        num_boost_round=rounds,
        evals=[(data, name) for name, data in sets.items()],
        callbacks=callbacks(hyperparameters, metrics, sets, folder=ml / "model"),
        verbose_eval=False,
    )
    booster.save_model(ml / "model" / MODEL)


def read_json(path: Path) -> Json:
    """Return a file of the job's configuration."""
    content: Json = json.loads(path.read_text(encoding="utf-8"))
    return content


def check(hyperparameters: Mapping[str, str]) -> None:
    """Raise UserError for a hyperparameter that the algorithm does not have, or not here."""
    for name, value in hyperparameters.items():
        if name not in XGBOOSTS | ALGORITHMS:
            raise UserError(f"Extraneous hyperparameter found: {name}")
        if name in ABSENT and value != "false":
            raise UserError(f"{name} ({ABSENT[name]}) is not implemented in the local cloud")


def whole_number(name: str, hyperparameters: Mapping[str, str]) -> int:
    """Return a hyperparameter that is a whole number above 0."""
    if name not in hyperparameters:
        raise UserError(f"Missing required hyperparameter: {name}")
    try:
        number = int(hyperparameters[name])
    except ValueError:
        raise UserError(f"Hyperparameter {name}: could not parse value") from None
    if number < 1:
        raise UserError(f"Hyperparameter {name}: value {number} not in range [1, inf)")
    return number


# ---- data ---------------------------------------------------------------------------------------
def read_channel(folder: Path, channel: Json, hyperparameters: Mapping[str, str]) -> Any:
    """Return a channel's rows as a DMatrix."""
    given = channel.get("ContentType") or DEFAULT_TYPE
    if given.partition(";")[0].strip().lower() not in CSV:
        raise UserError(
            f"channel {folder.name}: the content type {given} is not implemented in the local"
            " cloud; give the channel text/csv"
        )
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    files = [path for path in files if not path.name.startswith((".", "_"))]
    if not files:
        raise UserError(f"No data in {folder.name} channel path {folder}")
    pandas: Any = importlib.import_module("pandas")
    table = pandas.concat([read_file(pandas, path) for path in files])
    values = table.to_numpy("float32")
    weighted = hyperparameters.get("csv_weights") == "1"
    xgboost: Any = importlib.import_module("xgboost")
    return xgboost.DMatrix(
        values[:, 2 if weighted else 1 :],
        label=values[:, 0],
        weight=values[:, 1] if weighted else None,
    )


def read_file(pandas: Any, path: Path) -> Any:
    """Return the numbers of a file; its first line tells what separates them."""
    with path.open(encoding="utf-8", errors="replace") as file:
        line = file.readline()
    try:
        separator = csv.Sniffer().sniff(line).delimiter
    except csv.Error as problem:
        raise UserError(f"Could not determine delimiter on line {line[:50]}: {problem}") from None
    try:
        return pandas.read_csv(path, header=None, sep=separator, dtype="float32")
    except ValueError as problem:
        raise UserError(f"Failed to load csv data of {path.name}: {problem}") from None


# ---- metrics ------------------------------------------------------------------------------------
def chosen_metrics(hyperparameters: Mapping[str, str]) -> list[str]:
    """Return the names of eval_metric, and that of a tuning job's objective: the last one."""
    metrics_asked = [name.strip() for name in hyperparameters.get("eval_metric", "").split(",")]
    _, _, objective = hyperparameters.get("_tuning_objective_metric", "").partition(":")
    metrics = [name for name in dict.fromkeys(metrics_asked) if name and name != objective]
    metrics += [objective] if objective else []
    for name in metrics:
        if name in IMAGES_METRICS:
            raise UserError(
                f"The metric {name}, which the image calculates with its own code, is not"
                " implemented in the local cloud; take one of XGBoost's own"
            )
    return metrics


def callbacks(
    hyperparameters: Mapping[str, str], metrics: Sequence[str], sets: Json, *, folder: Path
) -> list[Any]:
    """Return what is done after each round."""
    xgboost: Any = importlib.import_module("xgboost")

    class Report(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        """Write the metrics as they stand in CloudWatch, where a tab is #011."""

        def after_iteration(self, model: Any, epoch: int, evals_log: Json) -> bool:
            words = [
                f"{data}-{metric}:{values[-1]:.5f}"
                for data, by_metric in evals_log.items()
                for metric, values in by_metric.items()
            ]
            print(f"[{epoch}]", *words, sep="#011", flush=True)
            return False

    class Save(xgboost.callback.TrainingCallback):  # type: ignore[misc]
        """Keep the model of the last whole round, for a job that is stopped."""

        def after_iteration(self, model: Any, epoch: int, evals_log: Json) -> bool:
            model.save_model(folder / ".unfinished")
            (folder / ".unfinished").replace(folder / MODEL)
            return False

    after_rounds: list[Any] = [Report()]
    if hyperparameters.get("save_model_on_termination") == "true":
        after_rounds.append(Save())
    if "early_stopping_rounds" in hyperparameters and metrics and "validation" in sets:
        rounds = whole_number("early_stopping_rounds", hyperparameters)
        stop = xgboost.callback.EarlyStopping(
            rounds=rounds,
            metric_name=metrics[-1],
            data_name="validation",
            maximize=metrics[-1].partition("@")[0] in MAXIMIZED,
            save_best=True,
        )
        after_rounds.append(stop)
    return after_rounds


if __name__ == "__main__":
    base = Path(sys.argv[1])
    try:
        main(base)
    except Exception as problem:  # what XGBoost says of data or hyperparameters, too
        (base / "output/failure").write_text(str(problem), encoding="utf-8")
        if isinstance(problem, UserError):
            sys.exit(f"UserError: {problem}")
        raise
