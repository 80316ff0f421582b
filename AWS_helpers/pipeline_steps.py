"""The steps of the lesson's pipeline on SageMaker, each made with the SDK's classes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from AWS_helpers import images
from AWS_helpers.costs import MACHINE
from AWS_helpers.jobs import CHANNELS, DAY, metric_definitions, tags
from AWS_helpers.serving import JSON, PROGRAM, default_region
from AWS_helpers.session import current_session
from AWS_helpers.storage import send
from lesson import ROOT
from lesson.jobs.code import PREPARES, SCRIPT, score_name

if TYPE_CHECKING:
    from sagemaker.core.processing import ScriptProcessor
    from sagemaker.core.shapes import ProcessingInput, ProcessingOutput
    from sagemaker.core.workflow.pipeline_context import PipelineSession
    from sagemaker.mlops.workflow.condition_step import ConditionStep
    from sagemaker.mlops.workflow.model_step import ModelStep
    from sagemaker.mlops.workflow.steps import CacheConfig, ProcessingStep, TrainingStep

STEPS = Path(__file__).with_name("steps")  # the scripts of the processing steps
CONTAINER = "/opt/ml/processing"  # where a processing job finds its inputs
KEPT = "P30D"  # for so long the result of a step is used again


def prepare(
    session: PipelineSession, table: Path, machine: str, *, label: str | None
) -> ProcessingStep:
    """Return the step that makes the two archives of a table."""
    from sagemaker.mlops.workflow.steps import ProcessingStep

    return ProcessingStep(
        name="prepare",
        step_args=_processor(session, machine).run(
            code=str(STEPS / "prepare.py"),
            inputs=[
                _input("table", _upload(table)),
                _input("lesson", _upload(*PREPARES, root=ROOT / "lesson")),
            ],
            outputs=[_output("train"), _output("val")],
            arguments=[table.name, label] if label else [table.name],
        ),
        cache_config=_cache(),
    )


def train(
    session: PipelineSession,
    prepared: ProcessingStep,
    args: Mapping[str, Any],
    *,
    machine: str,
    code: Path,
) -> TrainingStep:
    """Return the step that runs train_nn.py, as train() does, on the prepared data."""
    from sagemaker.core.training import configs
    from sagemaker.mlops.workflow.steps import TrainingStep
    from sagemaker.train import ModelTrainer

    own = current_session()
    files = {name: f"{CHANNELS}/{name}/{name}_data.npz" for name in ("train", "val")}
    trainer = ModelTrainer(
        training_image=images.image_for(machine, own.region),
        source_code=configs.SourceCode(source_dir=str(code), entry_script=SCRIPT),
        hyperparameters={**args, **files},
        compute=configs.Compute(instance_type=machine, instance_count=1),
        stopping_condition=configs.StoppingCondition(max_runtime_in_seconds=DAY),
        input_s3_key_prefix="pipelines",
        output_data_config=configs.OutputDataConfig(s3_output_path=f"{own.uri}/runs"),
        tags=tags(own),
        role=own.role,
        sagemaker_session=session,
    ).with_metric_definitions(metric_definitions(code))
    data = [
        configs.InputData(channel_name=name, data_source=_uri(prepared, name)) for name in files
    ]
    return TrainingStep(
        name="train", step_args=trainer.train(input_data_config=data), cache_config=_cache()
    )


def evaluate(
    session: PipelineSession,
    prepared: ProcessingStep,
    trained: TrainingStep,
    *,
    machine: str,
    code: Path,
) -> tuple[ProcessingStep, Any]:
    """Return the step that judges the model, and the score that it will report."""
    from sagemaker.core.workflow.functions import JsonGet
    from sagemaker.core.workflow.properties import PropertyFile
    from sagemaker.mlops.workflow.steps import ProcessingStep

    report = PropertyFile(name="Evaluation", output_name="report", path="evaluation.json")
    judged = ProcessingStep(
        name="evaluate",
        step_args=_processor(session, machine).run(
            code=str(STEPS / "evaluate.py"),
            inputs=[
                _input("model", trained.properties.ModelArtifacts.S3ModelArtifacts),
                _input("val", _uri(prepared, "val")),
                _input("training", _upload(*sorted(code.glob("*.py")))),
            ],
            outputs=[_output("report"), _output("packed")],
        ),
        property_files=[report],
        cache_config=_cache(),
    )
    path = f"metrics.{score_name(code)}.value"
    return judged, JsonGet(step_name="evaluate", property_file=report, json_path=path)


def register(session: PipelineSession, judged: ProcessingStep, group: str) -> ModelStep:
    """Return the step that registers the model that was judged, as approved."""
    from sagemaker.core.workflow.functions import Join
    from sagemaker.mlops.workflow.model_step import ModelStep

    own = current_session()
    with default_region(own.region):
        from sagemaker.serve.model_builder import ModelBuilder

    builder = ModelBuilder(
        s3_model_data_url=Join(on="/", values=[_uri(judged, "packed"), "model.tar.gz"]),
        image_uri=images.serving_image_for(MACHINE, own.region),
        env_vars={"SAGEMAKER_PROGRAM": PROGRAM},
        role_arn=own.role,
        sagemaker_session=session,
        dependencies={"auto": False},
        log_level=30,  # logging.WARNING
    )
    return ModelStep(
        name="register",
        step_args=builder.register(
            model_package_group_name=group,
            approval_status="Approved",
            content_types=[JSON],
            response_types=[JSON],
        ),
    )


def register_if(score: Any, least: Any, step: ModelStep) -> ConditionStep:
    """Return the step that has a model registered if it is accurate enough."""
    from sagemaker.core.workflow.conditions import ConditionGreaterThan
    from sagemaker.mlops.workflow.condition_step import ConditionStep

    better = ConditionGreaterThan(left=score, right=least)
    return ConditionStep(name="better", conditions=[better], if_steps=[step], else_steps=[])


# ---- what the steps are made of -----------------------------------------------------------------
def _processor(session: PipelineSession, machine: str) -> ScriptProcessor:
    from sagemaker.core.processing import ScriptProcessor

    own = current_session()
    return ScriptProcessor(
        role=own.role,
        image_uri=images.image_for(machine, own.region),  # it has pandas and scikit-learn
        command=["python3"],
        instance_type=machine,
        instance_count=1,
        sagemaker_session=session,
    )


def _input(name: str, uri: Any) -> ProcessingInput:
    """Have a processing job find what is at the URI in the folder input/NAME."""
    from sagemaker.core.shapes import ProcessingInput, ProcessingS3Input

    source = ProcessingS3Input(
        s3_uri=uri,
        local_path=f"{CONTAINER}/input/{name}",
        s3_data_type="S3Prefix",
        s3_input_mode="File",
    )
    return ProcessingInput(input_name=name, s3_input=source)


def _output(name: str) -> ProcessingOutput:
    """Have a processing job's folder NAME uploaded; the SDK chooses where, for each execution."""
    from sagemaker.core.shapes import ProcessingOutput, ProcessingS3Output

    target = ProcessingS3Output(
        s3_uri=name, local_path=f"{CONTAINER}/{name}", s3_upload_mode="EndOfJob"
    )
    return ProcessingOutput(output_name=name, s3_output=target)


def _uri(step: ProcessingStep, output: str) -> Any:
    """Refer to where a step's output will be: only an execution knows it."""
    return step.properties.ProcessingOutputConfig.Outputs[output].S3Output.S3Uri


def _cache() -> CacheConfig:
    from sagemaker.mlops.workflow.steps import CacheConfig

    return CacheConfig(enable_caching=True, expire_after=KEPT)


def _upload(*files: Path, root: Path | None = None) -> str:
    """Upload files, all of one folder or of those below `root`; return the URI of their folder.

    It changes with the contents: a step that is given the same URI is given the same files.
    """
    root = root or files[0].parent
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.read_bytes())
    own, folder = current_session(), f"pipelines/{root.name}-{digest.hexdigest()[:12]}"
    for path in files:
        send(own, path, f"{folder}/{path.relative_to(root)}")
    return f"{own.uri}/{folder}"
