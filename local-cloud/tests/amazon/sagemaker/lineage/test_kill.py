"""What SageMaker has acknowledged of lineage and experiments outlives a server that is killed."""

from __future__ import annotations

import json
import os
import signal
import time

from local_cloud.client import control
from local_cloud.client.home import Home
from tests.amazon.s3.test_kill import client

# Makes a trial with its component and a context that it leads to, again and again; each time says
# what has been acknowledged.
WRITES = """
import itertools
import local_cloud
local_cloud.activate()
import boto3
sagemaker = boto3.client("sagemaker")
sagemaker.create_experiment(ExperimentName="kept")
for number in itertools.count(1):
    name = f"kept-{number}"
    source = {"SourceUri": name}
    trial = {"TrialName": name}
    component = {"TrialComponentName": name}
    sagemaker.create_trial(ExperimentName="kept", **trial)
    arn = sagemaker.create_trial_component(**component)["TrialComponentArn"]
    sagemaker.associate_trial_component(**trial, **component)
    made = sagemaker.create_context(ContextName=name, ContextType="Kept", Source=source)
    sagemaker.add_association(SourceArn=arn, DestinationArn=made["ContextArn"])
    print(number, flush=True)
"""
READS = """
import json
import local_cloud
local_cloud.activate()
import boto3
sagemaker = boto3.client("sagemaker")

def names(operation, member, field, **params):
    pages = sagemaker.get_paginator(operation).paginate(**params)
    return [one[field] for page in pages for one in page[member]]

print(json.dumps({
    "trials": names("list_trials", "TrialSummaries", "TrialName", ExperimentName="kept"),
    "components": names("list_trial_components", "TrialComponentSummaries",
                        "TrialComponentName", ExperimentName="kept"),
    "contexts": names("list_contexts", "ContextSummaries", "ContextName", ContextType="Kept"),
    "associated": names("list_associations", "AssociationSummaries", "DestinationName",
                        DestinationType="Kept"),
}))
"""


def test_nothing_that_was_acknowledged_is_lost(own: Home) -> None:
    with client(own, WRITES) as writer:
        assert writer.stdout
        numbers = [int(writer.stdout.readline()) for _ in range(3)]
        time.sleep(0.137)
        os.kill(control.status(own).facts["pid"], signal.SIGKILL)
        writer.kill()
        numbers += [int(line) for line in writer.stdout if line.endswith("\n")]
    wanted = {f"kept-{number}" for number in numbers}
    control.start(own)
    with client(own, READS) as reader:
        content = json.loads(reader.communicate()[0])
    for names in content.values():
        assert wanted <= set(names)
        # One more may be there, which had no time to be acknowledged.
        assert len(set(names) - wanted) <= 1
    assert set(content["associated"]) <= set(content["contexts"])
