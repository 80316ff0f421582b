"""Where the verbs send things: the target, the role, the region and the bucket."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from AWS_helpers.interrupts import report_interrupts
from AWS_helpers.light_imports import import_jsonschema
from lesson import LessonError, target
from lesson.services import sessions
from lesson.services.sessions import MARK, bucket_name
from lesson.show.progress import note, wrap

if TYPE_CHECKING:
    import boto3
    from sagemaker.core.helper.session_helper import Session as SageMakerSession

BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True)
class Session:
    """What connect() settled."""

    target: str
    role: str  # the ARN of what SageMaker may do, or its name
    region: str
    bucket: str

    @property
    def learner(self) -> str:
        """Return the name that goes into the names of jobs."""
        return sessions.learner()

    @property
    def uri(self) -> str:
        """Return the bucket's s3:// URI."""
        return f"s3://{self.bucket}"

    @property
    def tags(self) -> dict[str, str]:
        """Return what is put on jobs."""
        return {MARK: self.bucket}

    @property
    def tag_list(self) -> list[dict[str, str]]:
        """Return the tags as boto3 takes them."""
        return [{"Key": key, "Value": value} for key, value in self.tags.items()]

    def client(self, service: str) -> Any:
        """Return boto3's client of a service ("s3", "logs", "sagemaker") in the region."""
        return _client(service, self.region)

    @property
    def boto(self) -> boto3.Session:
        """Return boto3's session, for the classes of the SageMaker SDK that take one."""
        return _boto(self.region)

    @property
    def sagemaker(self) -> SageMakerSession:
        """Return the SageMaker SDK's session, which keeps what it uploads in the bucket."""
        return _sagemaker(self.region, self.bucket)


_session: Session | None = None


def connect(
    bucket: str | None = None, region: str = "us-east-1", role: str | None = None
) -> Session:
    """Connect the SDKs to the target, and make the bucket if it is not there.

    Under LESSON_TARGET=local this starts the local cloud and needs no names. Under cloud it uses
    your own credentials; the role that SageMaker assumes is that of LESSON_ROLE or the
    one that this machine itself has, and the bucket that of LESSON_BUCKET, unless they are named
    here. Raises LessonError for what is missing.
    """
    global _session
    point_sdks()
    name = bucket_name(bucket, "s3://", BUCKET_NAME)
    _check_region(region)
    if "sagemaker.core" not in sys.modules:
        note("Loading Amazon's SDKs ...")
        import_jsonschema()
    for made in (_boto, _client, _sagemaker):
        made.cache_clear()
    session = Session(target(), _role(role, region), region, name)
    _make_bucket(session)
    report_interrupts()
    _session = session
    identity = f"role {session.role.rpartition('/')[2]}"
    print(wrap(sessions.in_words(session, identity, "Amazon")))
    return session


def point_sdks() -> None:
    """Start the local cloud and point this process at it, or see that it points at no such one."""
    sessions.activate("AWS_ENDPOINT_URL")


def current_session() -> Session:
    """Return the session that connect() made; raise LessonError before that."""
    return sessions.require(_session)


def client(service: str) -> Any:
    """Return boto3's client of a service, as a printed request calls it."""
    return current_session().client(service)


@cache
def _boto(region: str) -> boto3.Session:
    import boto3

    return boto3.Session(region_name=region)


@cache
def _client(service: str, region: str) -> Any:
    return _boto(region).client(service)


@cache
def _sagemaker(region: str, bucket: str | None = None) -> SageMakerSession:
    from sagemaker.core.helper.session_helper import Session as SageMakerSession

    return SageMakerSession(boto_session=_boto(region), default_bucket=bucket)


@contextmanager
def refusals(what: str) -> Iterator[None]:
    """Say in one sentence what the service refused, instead of a page of traceback."""
    from boto3.exceptions import Boto3Error
    from botocore.exceptions import (
        BotoCoreError,
        ClientError,
        ConnectionError,
        HTTPClientError,
        NoCredentialsError,
        TokenRetrievalError,
    )

    import local_cloud

    try:
        yield
    except local_cloud.LocalCloudError as problem:
        raise LessonError(f"{what}: {problem}") from None
    except ClientError as refusal:
        code, said = (refusal.response["Error"].get(name, "") for name in ("Code", "Message"))
        # It lists all instance types, hundreds of them, when it does not know one.
        said = shorten(said, 500, placeholder=" ...")
        raise LessonError(f"{what}: the service answered {code}, {said}") from None
    except (NoCredentialsError, TokenRetrievalError) as problem:
        raise LessonError(
            f"{what}: your credentials were not accepted ({problem}); "
            "run `aws configure` or `aws sso login` in a terminal"
        ) from None
    except (ConnectionError, HTTPClientError):
        raise sessions.no_answer(what, "Amazon") from None
    except (BotoCoreError, Boto3Error) as problem:
        words = " ".join(str(problem).split())  # some are lists, a line for each mistake
        raise LessonError(f"{what}: {words}") from None


def _role(named: str | None, region: str) -> str:
    from sagemaker.core.helper.session_helper import get_execution_role

    if role := named or os.environ.get("LESSON_ROLE"):
        return role
    try:
        with refusals("looking for a role"):
            own: str = get_execution_role(_sagemaker(region))
    except ValueError:  # a user's credentials, not those of a notebook's role
        raise LessonError(
            "no role is known that SageMaker may assume; name one, "
            "connect(role=...), or set LESSON_ROLE"
        ) from None
    return own


def _check_region(region: str) -> None:
    import boto3
    from botocore.exceptions import UnknownRegionError

    try:
        boto3.Session().get_partition_for_region(region)
    except UnknownRegionError:
        raise LessonError(
            f"there is no region {region}; Amazon's regions have names like us-east-1, eu-central-1"
        ) from None


def _make_bucket(session: Session) -> None:
    s3 = session.client("s3")
    with refusals(f"bucket {session.bucket}"):
        if lies := region_of(s3, session.bucket):
            if lies != session.region:
                raise LessonError(
                    f"bucket {session.bucket} lies in {lies}, and a job in {session.region} cannot "
                    f"read it; choose another name, or connect(region={lies!r})"
                )
            return
        place = {"CreateBucketConfiguration": {"LocationConstraint": session.region}}
        default = session.region == "us-east-1"  # this one region must not be named
        s3.create_bucket(Bucket=session.bucket, **({} if default else place))
        tags = {"TagSet": [{"Key": MARK, "Value": "true"}]}
        s3.put_bucket_tagging(Bucket=session.bucket, Tagging=tags)
    print(f"made the bucket {session.uri}")


def region_of(s3: Any, bucket: str) -> str | None:
    """Return where the bucket lies; None if there is none of that name."""
    from botocore.exceptions import ClientError

    try:
        region: str = s3.head_bucket(Bucket=bucket)["BucketRegion"]
    except ClientError as answer:
        code = answer.response["Error"]["Code"]
        if code == "403":  # names are shared by all of Amazon's customers
            raise LessonError(
                f"bucket {bucket} belongs to somebody else, or you may not look at it; "
                "choose another name"
            ) from None
        if code != "404":
            raise
        return None
    return region
