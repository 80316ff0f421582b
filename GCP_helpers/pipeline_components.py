"""The lesson's pipeline for kfp: prepare, train, evaluate, and deploy if the model is better.

Each component is a function that runs alone, on another machine: kfp sends its source, so it
imports all that it needs itself. `code` is the folder with training/ and lesson/, as run_pipeline()
has uploaded it.
"""

# kfp has no types; serve_nn is in the folder that is sent.
# mypy: disable-error-code="import-untyped, import-not-found, untyped-decorator"
# mypy: disable-error-code="type-arg, no-any-return"
# No `from __future__ import annotations`: kfp reads the annotations themselves.
from kfp import dsl
from kfp.dsl import Dataset, Input, Metrics, Model, Output

from GCP_helpers import images, serving

PYTHON = "python:3.11"
TORCH = images.image_for(None)  # has torch, as for train()
COMMAND = ["python3", "-c", serving.START]  # of the container that answers, as for deploy()


@dsl.component(base_image=PYTHON, packages_to_install=["pandas", "scikit-learn"])
def prepare(table: str, label: str, code: str, data: Output[Dataset]) -> None:
    """Split a table, and write the archives for training and for validation."""
    import sys

    sys.path.insert(0, code)
    from lesson.preparation import prepare

    made = prepare(table, data.path, label or None)
    data.metadata.update(train_rows=made.train_rows, val_rows=made.val_rows)


@dsl.component(base_image=TORCH)
def train(data: Input[Dataset], code: str, args: dict, model: Output[Model]) -> None:
    """Run train_nn.py with these flags, on the prepared data."""
    import subprocess
    import sys

    flags = [f"--{name}={value}" for name, value in args.items()]
    flags += [f"--train={data.path}/train_data.npz", f"--val={data.path}/val_data.npz"]
    flags += [f"--model_dir={model.path}"]
    done = subprocess.run([sys.executable, f"{code}/training/train_nn.py", *flags], check=False)
    if done.returncode:
        sys.exit(done.returncode)  # the log has said why


@dsl.component(base_image=TORCH)
def evaluate(
    data: Input[Dataset], model: Input[Model], code: str, metrics: Output[Metrics]
) -> float:
    """Return the model's mean score on the validation rows: for passengers, its accuracy."""
    import sys

    import numpy as np

    sys.path.insert(0, f"{code}/training")
    import serve_nn

    with np.load(f"{data.path}/val_data.npz") as archive:
        rows, labels = archive["X_val"].astype("float32"), archive["y_val"]
    judged = serve_nn.model_fn(model.path)
    score = judged.mean_score(rows, labels)
    metrics.log_metric(judged.code["SCORE"], score)
    if judged.labels:
        counts = np.unique(labels, return_counts=True)[1]
        metrics.log_metric("baseline", float(counts.max() / len(labels)))
    return score


@dsl.component(base_image=PYTHON, packages_to_install=["google-cloud-aiplatform"])
def deploy(
    model: Input[Model],
    image: str,
    command: list,
    place: dict,
) -> str:
    """Register the model and deploy it to a new endpoint; return the endpoint's name."""
    from google.cloud import aiplatform

    aiplatform.init(project=place["project"], location=place["region"])
    registered = aiplatform.Model.upload(
        display_name="titanic",
        artifact_uri=model.uri,
        serving_container_image_uri=image,
        serving_container_command=command,
        labels=place["labels"],
    )
    endpoint = aiplatform.Endpoint.create(display_name="titanic", labels=place["labels"])
    registered.deploy(endpoint, machine_type=place["machine"])
    return str(endpoint.resource_name)


@dsl.pipeline(name="titanic")
def titanic(
    table: str, label: str, code: str, args: dict, better_than: float, place: dict
) -> float:
    """Deploy a model only if its score is better than `better_than`."""
    prepared = prepare(table=table, label=label, code=code)
    data = prepared.outputs["data"]
    trained = train(data=data, code=code, args=args)
    model = trained.outputs["model"]
    judged = evaluate(data=data, model=model, code=code)
    score = judged.outputs["Output"]
    with dsl.If(score > better_than):
        deployed = deploy(model=model, image=TORCH, command=COMMAND, place=place)
        deployed.set_caching_options(False)  # an earlier endpoint may have been deleted
    return score
