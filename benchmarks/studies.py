"""Studies on a warm local cloud: how long one takes, and what the best of its trials is worth.

`python -m benchmarks.studies speed ROUNDS` prints as JSON the seconds of each measure, which take
turns; `... worth SEED` the results of the script's defaults and of the best of 24 trials, on the
rows that the study was judged by and on rows that it never saw.
"""

from __future__ import annotations

import contextlib
import io
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.jobs import BUCKET, IMAGE, SAGEMAKER_IMAGE, measure_seconds, warm
from benchmarks.measure import ROOT, SCRIPT, as_table, last_line, ratio, say
from lesson import preparation

TRIALS = 12
BEST_OF = 24
AT_ONCE = 2
TURNS = 3
STUDIES = 3
LOSS = "validation_loss"
HIDDEN = ["8", "16", "32", "64,32", "128,64"]
CHANNELS = "/opt/ml/input/data"


def upload(folder: Path) -> preparation.Prepared:
    """Prepare the twin and bring it to both clouds."""
    import boto3
    from google.cloud import storage

    made = preparation.prepare(ROOT / "data/titanic_train.csv", str(folder))
    bucket, s3 = storage.Client().create_bucket(BUCKET), boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    for path in (made.train, made.val):
        bucket.blob(path.name).upload_from_filename(str(path))
        s3.upload_file(str(path), BUCKET, path.name)
    return made


def on_vertex(name: str, trials: int, *batch_sizes: int, **flags: Any) -> Any:
    """Run a study by Google's SDK, watched to its end; return the SDK's own object."""
    from google.cloud import aiplatform
    from google.cloud.aiplatform import hyperparameter_tuning as hpt

    space: dict[str, Any] = {
        "learning_rate": hpt.DoubleParameterSpec(min=0.0001, max=0.1, scale="log"),
        "hidden": hpt.CategoricalParameterSpec(values=HIDDEN),
    }
    if batch_sizes:
        sizes = hpt.DiscreteParameterSpec(values=[*batch_sizes], scale="linear")
        space["batch_size"] = sizes
    data = {part: f"gs://{BUCKET}/{part}_data.npz" for part in ("train", "val")}
    job = aiplatform.HyperparameterTuningJob(
        display_name=name,  # the local cloud's seed
        custom_job=aiplatform.CustomJob.from_local_script(
            display_name=name,
            script_path=str(SCRIPT),
            container_uri=IMAGE,
            args=[f"--{flag}={value}" for flag, value in (data | flags).items()],
            base_output_dir=f"gs://{BUCKET}/{name}",
        ),
        metric_spec={LOSS: "minimize"},
        parameter_spec=space,
        max_trial_count=trials,
        parallel_trial_count=AT_ONCE,
    )
    job.run()
    return job


def on_sagemaker(name: str, trials: int, **flags: Any) -> None:
    """Run a study by Amazon's SDK, watched to its end."""
    from sagemaker.core.parameter import CategoricalParameter, ContinuousParameter
    from sagemaker.core.training.configs import Compute, InputData, SourceCode
    from sagemaker.train import ModelTrainer
    from sagemaker.train.tuner import HyperparameterTuner

    data = {name: f"{CHANNELS}/{name}/{name}_data.npz" for name in ("train", "val")}
    tuner = HyperparameterTuner(
        ModelTrainer(
            training_image=SAGEMAKER_IMAGE,
            source_code=SourceCode(source_dir=str(SCRIPT.parent), entry_script=SCRIPT.name),
            compute=Compute(instance_type="ml.m5.large", instance_count=1),
            hyperparameters=data | flags,
            base_job_name="benchmark",
        ),
        "validation:loss",
        {
            "learning_rate": ContinuousParameter(0.0001, 0.1, "Logarithmic"),
            "hidden": CategoricalParameter(HIDDEN),
        },
        metric_definitions=[
            {"Name": "validation:loss", "Regex": r"validation:loss = ([0-9.eE+-]+)"}
        ],
        objective_type="Minimize",
        max_jobs=trials,
        max_parallel_jobs=AT_ONCE,
    )
    channels = [
        InputData(channel_name=name, data_source=f"s3://{BUCKET}/{name}_data.npz") for name in data
    ]
    tuner.tune(inputs=channels, job_name=name, wait=True)


def speed(rounds: int, folder: Path) -> dict[str, list[float]]:
    """Time a study of 12 trials in each cloud, and 12 bare runs one after another."""
    made = upload(folder)
    flags = {"epochs": 50, "patience": 0}
    local = {"train": made.train, "val": made.val, "model_dir": folder} | flags
    bare = [sys.executable, str(SCRIPT), *(f"--{name}={value}" for name, value in local.items())]
    names = (f"speed-{number}" for number in range(2 * (rounds + 1)))
    measures: dict[str, Callable[[], object]] = {
        "Vertex AI": lambda: on_vertex(next(names), TRIALS, **flags),
        "SageMaker": lambda: on_sagemaker(next(names), TRIALS, **flags),
        "bare": lambda: [
            subprocess.run(bare, check=True, capture_output=True) for _ in range(TRIALS)
        ],
    }
    taken = [
        {name: measure_seconds(measure) for name, measure in measures.items()}
        for _ in [0] * (rounds + 1)
    ]
    return {name: [one[name] for one in taken[1:]] for name in measures}


class Worth(NamedTuple):
    """Loss and accuracy on the 143 rows that a study is judged by, and on 179 it never sees."""

    val_loss: float
    val_accuracy: float
    unseen_loss: float
    unseen_accuracy: float


def worth(seed: int, folder: Path) -> dict[str, Worth]:
    """Judge the script's defaults, and the best of 24 trials of at most 300 epochs."""
    from google.cloud import storage

    made = upload(folder)
    data = [f"--train={made.train}", f"--val={made.val}", f"--model_dir={folder}/defaults"]
    command = [sys.executable, str(SCRIPT), f"--seed={seed}", *data]
    subprocess.run(command, check=True, capture_output=True)
    name = f"worth-{seed}"
    job = on_vertex(name, BEST_OF, 0, 16, 32, 64, 128, epochs=300)
    best = min(job.trials, key=lambda trial: trial.final_measurement.metrics[0].value)
    (folder / "best").mkdir()
    for file in ("model.pt", "metrics.json", "preparation.json"):
        blob = storage.Client().bucket(BUCKET).blob(f"{name}/{best.id}/model/{file}")
        blob.download_to_filename(str(folder / "best" / file))
    return {each: judge(folder / each) for each in ("defaults", "best")}


def judge(results: Path) -> Worth:
    """Judge what a trained model is worth, from its own results and on the table's test part."""
    import torch

    import train_nn

    script: Any = train_nn
    metrics = json.loads((results / "metrics.json").read_text())
    saved = torch.load(results / "model.pt", weights_only=True)
    model = script.build_model(len(preparation.FEATURES), metrics["configuration"]["hidden"], 0)
    model.load_state_dict(saved["model"])
    table = preparation.read_passengers(ROOT / "data/titanic_test.csv")
    rules = (results / "preparation.json").read_text()
    X = torch.tensor(
        preparation.apply_json(
            rules,
            [{str(name): value for name, value in row.items()} for row in table.to_dict("records")],
        )
    )
    y = torch.tensor(table[preparation.LABEL].to_numpy(), dtype=torch.float32)
    with torch.no_grad():
        logits = model(X)[:, 0]
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y)
    right = ((logits > 0) == (y > 0)).float().mean()
    return Worth(metrics["loss"], metrics["accuracy"], float(loss), float(right))


def main() -> None:
    """Measure one of the two, quietly, on a local cloud of its own."""
    what, number = sys.argv[1], int(sys.argv[2])
    measure: dict[str, Callable[[int, Path], Any]] = {"speed": speed, "worth": worth}
    hidden = contextlib.redirect_stdout(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, warm(), hidden:
        result = measure[what](number, Path(folder))
    print(json.dumps(result))


def section() -> str:
    """Measure twelve trials against twelve bare runs; the best of 24 against the defaults."""
    say("studies: 12 trials two at a time and 12 bare runs take turns ...")
    taken = last_line("-m", "benchmarks.studies", "speed", str(TURNS))
    lines = [
        (
            f"{TRIALS} bare runs, one after another",
            f"{statistics.median(taken['bare']):.1f}",
            "",
            "",
        ),
        *(
            (
                f"a study of {TRIALS} trials on {cloud}, {AT_ONCE} at a time",
                f"{statistics.median(taken[cloud]):.1f}",
                f"{1 / ratio(taken['bare'], taken[cloud]):.2f}",
                "0.5",
            )
            for cloud in ("Vertex AI", "SageMaker")
        ),
    ]
    columns = ("what", "seconds (median)", "of the bare runs' time", "goal, under")
    say(f"studies: the best of {BEST_OF} trials, {STUDIES} studies ...")
    found = [last_line("-m", "benchmarks.studies", "worth", str(seed)) for seed in range(STUDIES)]
    middle = partial(_median, found)
    rows = [
        (words, *(f"{value:.3f}" for value in middle(name)))
        for words, name in (
            ("the script's defaults", "defaults"),
            (f"the best of {BEST_OF}", "best"),
        )
    ]
    worth_columns = (
        "median of three",
        "loss, 143 rows of the study",
        "accuracy there",
        "loss, 179 unseen rows",
        "accuracy there",
    )
    return (
        "### Studies on a warm local cloud\n\n"
        f"{as_table(columns, lines)}\n{as_table(worth_columns, rows)}"
    )


def _median(seeds: list[dict[str, list[float]]], name: str) -> list[float]:
    """Return the median of each figure over the studies."""
    return [statistics.median(values) for values in zip(*(one[name] for one in seeds), strict=True)]


if __name__ == "__main__":
    main()
