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
    Recorded("PUT", "/aws/none/a%20b?partNumber=1&uploadId=x", {"x-amz-acl": "private"}, b"text"),
    *(
        Recorded("POST", "/aws/", {"X-Amz-Target": f"SageMaker.{operation}"}, body)
        for operation, body in {
            "ListTrainingJobs": b'{"SortBy":"Name","MaxResults":5,"CreationTimeAfter":1.0}',
            "CreateTrainingJob": b'{"TrainingJobName":"x","Tags":[{"Key":"a","Value":"b"}]}',
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
