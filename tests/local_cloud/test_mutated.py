"""Real requests changed at random: nobody gets in without the secret, and nothing answers 500."""

from __future__ import annotations

import pytest

from local_cloud.control import Status
from tests.local_cloud.mutated import mutated_requests, send_mutated
from tests.local_cloud.recorded import Recorded

NAME = {"Content-Type": "application/json"}
PARENT = "/v1/projects/p/locations/l"
# Some of the requests that the SDKs send, as they sent them; the long test records them all.
REQUESTS = [
    Recorded("POST", "/storage/v1/b?project=p", NAME, b'{"name":"x","labels":{"a":"b"}}'),
    Recorded("GET", "/storage/v1/b/none/o?prefix=a/&delimiter=/&maxResults=1", {"a": "b"}, b""),
    Recorded("GET", f"{PARENT}/customJobs?filter=a=b&pageSize=1&orderBy=create_time", NAME, b""),
    Recorded(
        *("POST", f"{PARENT}/customJobs", NAME),
        b'{"displayName":"x","labels":{"a":"b"},"jobSpec":{"workerPoolSpecs":[{"replicaCount":0,'
        b'"machineSpec":{"machineType":"n1-standard-4"},"containerSpec":{"imageUri":"i"}}]}}',
    ),
    Recorded(
        *("POST", f"{PARENT}/metadataStores/default/contexts?contextId=c", NAME),
        b'{"displayName":"c","schemaTitle":"system.Experiment","metadata":{"a":[1,{"b":"c"}]}}',
    ),
    Recorded(
        *("POST", f"{PARENT}/datasets", NAME),
        b'{"displayName":"d","metadataSchemaUri":"gs://google-cloud-aiplatform/schema/dataset/'
        b'metadata/tabular_1.0.0.yaml","metadata":{"inputConfig":{"gcsSource":{"uri":["gs://b/c"]}}}}',
    ),
    Recorded(
        *("POST", f"{PARENT}/pipelineJobs?pipelineJobId=p", NAME),
        b'{"pipelineSpec":{"schemaVersion":"2.1.0","pipelineInfo":{"name":"x"},"root":{"dag":{"tasks":'
        b'{"a":{"componentRef":{"name":"c"},"triggerPolicy":{"condition":"false"}}}}},"components":'
        b'{"c":{"executorLabel":"e"}},"deploymentSpec":{"executors":{"e":{"container":{"image":"i"}}}}},'
        b'"runtimeConfig":{"gcsOutputDirectory":"gs://b/x","parameterValues":{}}}',
    ),
    Recorded("PUT", "/aws/none/a%20b?partNumber=1&uploadId=x", {"x-amz-acl": "private"}, b"text"),
    *(
        Recorded("POST", "/aws/", {"X-Amz-Target": f"SageMaker.{operation}"}, body)
        for operation, body in {
            "ListTrainingJobs": b'{"SortBy":"Name","MaxResults":5,"CreationTimeAfter":1.0}',
            "CreateTrainingJob": b'{"TrainingJobName":"x","Tags":[{"Key":"a","Value":"b"}]}',
            "CreateProcessingJob": b'{"ProcessingJobName":"x","ProcessingInputs":[{"InputName":"a",'
            b'"S3Input":{"S3Uri":"s3://a/b","LocalPath":"/opt/ml/processing/a","S3DataType":'
            b'"S3Prefix"}}],"ProcessingResources":{"ClusterConfig":{"InstanceCount":1,'
            b'"InstanceType":"ml.m5.large","VolumeSizeInGB":1}},"AppSpecification":{"ImageUri":"i"'
            b',"ContainerEntrypoint":["false"]},"RoleArn":"arn:aws:iam::000000000000:role/r"}',
            "CreatePipeline": b'{"PipelineName":"x","PipelineDefinition":"{\\"Version\\":'
            b'\\"2020-12-01\\",\\"Steps\\":[{\\"Name\\":\\"a\\",\\"Type\\":\\"Fail\\",'
            b'\\"Arguments\\":{}}]}","RoleArn":"arn:aws:iam::000000000000:role/r",'
            b'"ClientRequestToken":"00000000000000000000000000000000"}',
            "StartPipelineExecution": b'{"PipelineName":"x","PipelineParameters":[{"Name":"a",'
            b'"Value":"b"}],"ClientRequestToken":"00000000000000000000000000000000"}',
            "ListPipelineExecutionSteps": b'{"PipelineExecutionArn":"arn:aws:sagemaker:us-east-1:'
            b'000000000000:pipeline/x/execution/y","SortOrder":"Ascending","MaxResults":3}',
        }.items()
    ),
    Recorded(
        *("POST", "/aws/", {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}),
        b"Action=GetRole&Version=2010-05-08&RoleName=SageMakerExecutionRole",
    ),
]


def test_some(cloud: Status) -> None:
    assert send_mutated(str(cloud.url), REQUESTS, 400, seed=1)[1:] == (0, [])


@pytest.mark.slow
def test_many_of_all_that_the_sdks_send() -> None:
    assert mutated_requests(6000, seed=2)[1:] == (0, [])
