"""Where the verbs send things: the target, the project, the region and the bucket."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lesson import LessonError, target
from lesson.services import sessions
from lesson.services.sessions import MARK, bucket_name
from lesson.show.progress import note, wrap

if TYPE_CHECKING:
    import google.cloud.storage as storage

REGION = "us-central1"
LOCAL_PROJECT = "local-project"  # of the local cloud, which has no other
BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{1,220}[a-z0-9]")  # so long only with dots


@dataclass(frozen=True)
class Session:
    """What connect() settled."""

    target: str
    project: str
    region: str
    bucket: str

    @property
    def learner(self) -> str:
        """Return the name that goes into the names of jobs."""
        return sessions.learner()

    @property
    def uri(self) -> str:
        """Return the bucket's gs:// URI."""
        return f"gs://{self.bucket}"

    @property
    def storage(self) -> storage.Client:
        """Return the storage client of the project."""
        return _client(self.project)

    @property
    def labels(self) -> dict[str, str]:
        """Return what is put on jobs; a label's value may hold no dots, a bucket's name may."""
        return {MARK: self.bucket.replace(".", "_")}


_session: Session | None = None


def connect(bucket: str | None = None, project: str | None = None, region: str = REGION) -> Session:
    """Connect the SDKs to the target, and make the bucket if it is not there.

    Under LESSON_TARGET=local this starts the local cloud and needs no names. Under cloud it uses
    your own credentials; the project is that of GOOGLE_CLOUD_PROJECT or of the credentials, and
    the bucket that of LESSON_BUCKET, unless they are named here. Raises LessonError for what is
    missing.
    """
    global _session
    sessions.activate("STORAGE_EMULATOR_HOST")
    name = bucket_name(bucket, "gs://", BUCKET_NAME)
    session = Session(target(), project_in_use(project), region, name)

    if "google.cloud.aiplatform" not in sys.modules:
        note("Loading Google's SDKs ...")
    from google.cloud import aiplatform

    _check_region(region)
    aiplatform.init(
        project=session.project,
        location=session.region,
        staging_bucket=session.uri,
        api_transport="rest",  # the same requests to the local cloud and to the real one
    )
    _client.cache_clear()
    _make_bucket(session)
    _session = session
    identity = f"project {session.project}"
    print(wrap(sessions.in_words(session, identity, "Google")))
    return session


def place() -> tuple[str, str]:
    """Return the project and the region of the session, before connect() those it would settle."""
    if _session:
        return _session.project, _session.region
    if target() == "local":
        return os.environ.get("GOOGLE_CLOUD_PROJECT", LOCAL_PROJECT), REGION
    return project_in_use(None), REGION


def current_session() -> Session:
    """Return the session that connect() made; raise LessonError before that."""
    return sessions.require(_session)


@cache
def _client(project: str) -> storage.Client:
    import google.cloud.storage as storage

    return storage.Client(project=project)


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """Say in one sentence what the service refused, instead of a page of traceback."""
    from google.api_core.exceptions import GoogleAPICallError, RetryError
    from google.auth.exceptions import RefreshError, TransportError
    from requests import ConnectionError

    import local_cloud

    try:
        yield
    except local_cloud.LocalCloudError as problem:
        raise LessonError(f"{what}: {problem}") from None
    except GoogleAPICallError as refusal:
        said = re.sub(r"^[A-Z]+ https?://\S+: ", "", refusal.message)  # the request's URL
        raise LessonError(f"{what}: the service answered {refusal.code}, {said}") from None
    except RefreshError as problem:
        raise LessonError(
            f"{what}: your credentials were not accepted ({problem}); "
            "run `gcloud auth application-default login` in a terminal"
        ) from None
    except (ConnectionError, RetryError, TransportError):
        raise sessions.no_answer(what, "Google") from None


def project_in_use(named: str | None) -> str:
    """Return the project: as named, else of GOOGLE_CLOUD_PROJECT, else of the credentials."""
    project = named or os.environ.get("GOOGLE_CLOUD_PROJECT")
    if target() == "cloud":
        project = project or _project_of_credentials()
    if not project:
        raise LessonError(
            "no project is known; name it, connect(project=...), or set GOOGLE_CLOUD_PROJECT"
        )
    return project


def _project_of_credentials() -> str | None:
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError

    try:
        return google.auth.default()[1]
    except DefaultCredentialsError:
        raise LessonError(
            "there are no Google credentials on this machine; "
            "run `gcloud auth application-default login` in a terminal"
        ) from None


def _check_region(region: str) -> None:
    from google.cloud.aiplatform import utils

    try:
        utils.validate_region(region)
    except ValueError:
        raise LessonError(
            f"Vertex AI has no region {region}; its regions have names like us-central1, "
            "europe-west4"
        ) from None


def _make_bucket(session: Session) -> None:
    store = session.storage
    with refusals(f"bucket {session.bucket}"):
        if store.lookup_bucket(session.bucket) is not None:
            return
        bucket = store.bucket(session.bucket)
        bucket.labels = {MARK: "true"}
        store.create_bucket(bucket, location=session.region)
    print(f"made the bucket {session.uri}")
