"""Requests of gcloud to services that are not here: one answer, at once."""

from __future__ import annotations

import os

import requests

from local_cloud.client.control import Status


def test_the_answer_names_the_service(cloud: Status) -> None:
    """gcloud sends the secret as its token, and tries again after every answer from 500."""
    url, _, secret = os.environ["LOCAL_CLOUD_VERTEX_URL"].rpartition("/")
    path = "/absent/cloudbuild/v1/projects/p/builds"
    answer = requests.post(url + path, headers={"Authorization": f"Bearer {secret}"})
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "code": 400,
        "message": "not part of the local cloud: cloudbuild",
        "status": "FAILED_PRECONDITION",
    }
    assert requests.get(url + path).status_code == 403
