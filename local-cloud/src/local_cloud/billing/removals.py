"""The very call that ends what costs money, with the SDK of its cloud."""

from __future__ import annotations

from local_cloud.engine.rental import RentedResource

GOOGLE = "from google.cloud import aiplatform; aiplatform."
AMAZON = 'import boto3; boto3.client("sagemaker").'

# In each, {} is the name of the resource.
CALLS = {
    ("vertex", "custom job"): GOOGLE + 'CustomJob.get("{}").cancel()',
    ("vertex", "training pipeline"): GOOGLE + 'CustomTrainingJob.get("{}").cancel()',
    ("vertex", "tuning trial"): GOOGLE + 'HyperparameterTuningJob.get("{}").cancel()',
    ("vertex", "pipeline task"): GOOGLE + 'PipelineJob.get("{}").cancel()',
    ("vertex", "AutoML table training"): GOOGLE + 'AutoMLTabularTrainingJob.get("{}").cancel()',
    ("vertex", "AutoML image training"): GOOGLE + 'AutoMLImageTrainingJob.get("{}").cancel()',
    ("vertex", "batch prediction"): GOOGLE + 'BatchPredictionJob("{}").cancel()',
    ("vertex", "endpoint"): GOOGLE + 'Endpoint("{}").delete(force=True)',
    ("sagemaker", "training job"): AMAZON + 'stop_training_job(TrainingJobName="{}")',
    ("sagemaker", "tuning trial"): (
        AMAZON + 'stop_hyper_parameter_tuning_job(HyperParameterTuningJobName="{}")'
    ),
    ("sagemaker", "Autopilot job"): AMAZON + 'stop_auto_ml_job(AutoMLJobName="{}")',
    ("sagemaker", "transform job"): AMAZON + 'stop_transform_job(TransformJobName="{}")',
    ("sagemaker", "processing job"): AMAZON + 'stop_processing_job(ProcessingJobName="{}")',
    ("sagemaker", "endpoint"): AMAZON + 'delete_endpoint(EndpointName="{}")',
    ("sagemaker", "notebook instance"): (
        AMAZON + 'stop_notebook_instance(NotebookInstanceName="{}")'
    ),
}
BUCKETS = {
    "gs": (
        'from google.cloud import storage; bucket = storage.Client().bucket("{}"); '
        "bucket.delete_blobs(list(bucket.list_blobs())); bucket.delete()"
    ),
    "s3": (
        'import boto3; bucket = boto3.resource("s3").Bucket("{}"); '
        "bucket.objects.delete(); bucket.delete()"
    ),
}


def removal(rented: RentedResource) -> str:
    """Return the Python that ends a rental; a sentence, of what no call is known for."""
    name = rented.owner or rented.name
    call = CALLS.get((rented.cloud, rented.kind))
    return call.format(name) if call else f"No call is known here that ends the {rented.kind}."
