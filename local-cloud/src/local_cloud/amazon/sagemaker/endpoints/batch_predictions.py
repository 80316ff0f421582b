"""Batch transform: send whole files of S3 to a model that is served for that job alone.

Each job has a deployment of the engine; its work begins when that is ready, and from the start
again after a restart of the server. The replicas' logs go with them when the job has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any

from local_cloud.amazon.protocols.errors import ServiceError, not_implemented
from local_cloud.amazon.sagemaker.endpoints import tracked_jobs
from local_cloud.amazon.sagemaker.endpoints.endpoints import DIALECT, FACTS
from local_cloud.amazon.sagemaker.instances import layout
from local_cloud.amazon.sagemaker.jobs import status
from local_cloud.amazon.sagemaker.lineage.jobs import JobLineage
from local_cloud.amazon.sagemaker.models.models import Models
from local_cloud.amazon.sagemaker.resources import billing, listing
from local_cloud.amazon.sagemaker.resources.names import arn, split_s3_uri
from local_cloud.amazon.sagemaker.resources.request import check_bucket, check_volume_key, invalid
from local_cloud.bounded import files
from local_cloud.bounded.errors import OverLimit
from local_cloud.disk_errors import say
from local_cloud.engine.serving.deployments import MOST
from local_cloud.engine.serving.http_client import HttpRequest
from local_cloud.engine.serving.spec import Deployment, NoSuchDeployment, ServingState, Unanswered
from local_cloud.engine.spec import EngineError
from local_cloud.json_types import Json
from local_cloud.platform import Platform
from local_cloud.store import clock
from local_cloud.store.errors import StoreError
from local_cloud.store.objects import Objects
from local_cloud.store.records import NOT_WRITTEN

KIND, NAME = "transform-job", "TransformJobName"
LARGEST_PAYLOAD = 100  # MB: the most that MaxPayloadInMB may be
TOO_MUCH = "Too much data for max payload size: a record has more than {} MB"
PAYLOAD = 6  # MB of a request, where MaxPayloadInMB is not given
ANSWER_SECONDS, RETRIES = 600, 3  # of an invocation, where ModelClientConfig does not say
ALL = "$"  # a filter that leaves everything as it is
SUMMARY = (
    NAME,
    "TransformJobArn",
    "CreationTime",
    "TransformEndTime",
    "LastModifiedTime",
    "TransformJobStatus",
    "FailureReason",
)


class BatchPredictions:
    """Transform jobs by name."""

    def __init__(self, platform: Platform, models: Models, lineage: JobLineage) -> None:
        """models: which jobs name; lineage: what is tracked of jobs."""
        self.records, self.objects = platform.records, platform.s3
        self.serving = platform.serving
        self.models, self.tags, self.lineage = models, models.tags, lineage
        lineage.components.follow(KIND, self.track)
        self._tasks: dict[str, asyncio.Task[None]] = {}  # by the job's name

    # ---- requests -------------------------------------------------------------------------------
    def create(self, request: Json) -> Json:
        """CreateTransformJob: check and record it, and start its replicas."""
        name, now = request[NAME], time.time()
        _check(request, self.objects)
        container = self.models.container(request["ModelName"])
        environment = (container.get("Environment") or {}) | (request.get("Environment") or {})
        model = self.models.get(request["ModelName"])
        made = f"{name[:63]}.{secrets.token_hex(4)}"
        client = request.get("ModelClientConfig") or {}
        facts = {
            "container": container | {"Environment": environment},
            "variant": request["TransformResources"],
            "isolated": bool(model.get("EnableNetworkIsolation")),
            "answer_seconds": float(client.get("InvocationsTimeoutInSeconds", ANSWER_SECONDS)),
            "job": name,
        }
        document = {
            **{field: value for field, value in request.items() if field != "Tags"},
            "TransformJobArn": arn(f"{KIND}/{name}"),
            "TransformJobStatus": "InProgress",
            "CreationTime": now,
            "LastModifiedTime": now,
            "deployment": made,
        }
        with self.records.transaction():
            if self.records.get(KIND, name):
                raise ServiceError(
                    "ResourceInUse",
                    "Job name must be unique within an AWS account and region, and a job with"
                    f" this name already exists ({document['TransformJobArn']})",
                )
            self.records.put(KIND, name, document)
            self.records.put(FACTS, made, facts)
            self.tags.create(document["TransformJobArn"], request.get("Tags", []))
            self.lineage.begin(tracked_jobs.job(document))
            count = request["TransformResources"]["InstanceCount"]
            machine = billing.of_instances("transform job", name, request["TransformResources"])
            self.serving.deploy(
                DIALECT, f"{KIND}/{name}", made, minimum=count, maximum=count, rented=machine
            )
        return {"TransformJobArn": document["TransformJobArn"]}

    def describe(self, params: Json) -> Json:
        """DescribeTransformJob."""
        job = self._get(params[NAME])
        hidden = ("deployment", "LastModifiedTime")
        return {field: value for field, value in job.items() if field not in hidden}

    def track(self, name: str) -> Json:
        """Return what a job's trial component shows of it; {} of a job that is not there."""
        known = self.records.get(KIND, name)
        return tracked_jobs.facts(known, self.models.find(known["ModelName"])) if known else {}

    def list(self, params: Json) -> Json:
        """ListTransformJobs: the newest first, unless the request says otherwise."""
        short = listing.shorten((job for _, job in self.records.list(KIND)), *SUMMARY)
        chosen = listing.select(short, params, name=NAME, status="TransformJobStatus")
        fields = {"Name": NAME, "CreationTime": "CreationTime", "Status": "TransformJobStatus"}
        listed = listing.sort(chosen, params, fields, default="Descending")
        return listing.page(listed, params, "TransformJobSummaries")

    def stop(self, params: Json) -> Json:
        """StopTransformJob: what has been written so far stays."""
        job = self._get(params[NAME])
        if job["TransformJobStatus"] != "InProgress":
            raise invalid(
                "The request was rejected because the transform job is in status"
                f" {job['TransformJobStatus']}."
            )
        if task := self._tasks.get(job[NAME]):
            task.cancel()
        self._end(job[NAME], "Stopped")
        return {}

    def _get(self, name: str) -> Json:
        document = self.records.get(KIND, name)
        if document is None:
            raise invalid(f"Could not find requested job with name: {name}")
        return document

    def start(self) -> None:
        """Do nothing: a job goes on when its replicas are ready again (settle)."""

    async def close(self) -> None:
        """Score no further; after the next start each job begins again."""
        running = [*self._tasks.values()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    # ---- the work -------------------------------------------------------------------------------
    def settle(self, deployment: Deployment, name: str) -> None:
        """React: the job's replicas are ready, or will never be."""
        if self._get(name)["TransformJobStatus"] != "InProgress":
            self._release(deployment.id)
        elif deployment.state is ServingState.FAILED:
            if task := self._tasks.get(name):
                task.cancel()  # it would end the job for another reason
            self._end(name, "Failed", status.why_failed(deployment))
        elif name not in self._tasks:
            task = asyncio.get_running_loop().create_task(self._run(name))
            self._tasks[name] = task
            task.add_done_callback(lambda _: self._tasks.pop(name, None))

    async def _run(self, name: str) -> None:
        try:
            await self._transform(name)
        except (EngineError, StoreError, ValueError, *NOT_WRITTEN) as problem:
            self._end(name, "Failed", f"ClientError: {say(problem)}"[: status.LONGEST_REASON])
        except Exception as problem:  # a fault in this program: the job must not seem to run
            logging.getLogger(__name__).exception("transform job %s", name)
            self._end(name, "Failed", f"InternalServerError: {problem!r}")
            raise

    async def _transform(self, name: str) -> None:
        started = clock.now_after(self._get(name)["CreationTime"])
        job = self._put(name, {"TransformStartTime": started})
        given = job["TransformInput"]
        bucket, prefix = split_s3_uri(given["DataSource"]["S3DataSource"]["S3Uri"])
        keys = [key for key in self.objects.names(bucket, prefix) if not key.endswith("/")]
        if not keys:
            raise EngineError(f"There is no object at s3://{bucket}/{prefix}.")
        target, folder = split_s3_uri(job["TransformOutput"]["S3OutputPath"].rstrip("/"))
        for key in keys:
            source = self.objects.get(bucket, key).path
            body = self.objects.upload_file()
            try:
                with self.objects.space.open(body) as output:
                    await self._transform_file(job, source, output)
                place = f"{folder}/{layout.below(key, prefix)}.out".lstrip("/")
                self.objects.put(target, place, body)
            finally:
                body.unlink(missing_ok=True)
        self._end(name, "Completed")

    async def _transform_file(self, job: Json, source: Path, output: Any) -> None:
        """Send a file's records, some at a time, and write the answers in their order."""
        line = job["TransformOutput"].get("AssembleWith") == "Line"
        with source.open("rb") as file:
            parts = records(file, job)
            together = job.get("MaxConcurrentTransforms") or 1
            while several := await asyncio.to_thread(lambda: list(islice(parts, together))):
                for answer in await asyncio.gather(*(self._send(job, part) for part in several)):
                    output.write(answer)
                    if line and not answer.endswith(b"\n"):
                        output.write(b"\n")

    async def _send(self, job: Json, body: bytes) -> bytes:
        headers = {
            "Content-Type": job["TransformInput"].get("ContentType"),
            "Accept": job["TransformOutput"].get("Accept"),
        }
        told = tuple((name, value) for name, value in headers.items() if value)
        request = HttpRequest("POST", "/invocations", body, told)
        tries = 1 + (job.get("ModelClientConfig") or {}).get("InvocationsMaxRetries", RETRIES)
        for left in reversed(range(tries)):
            try:
                _, response = await self.serving.send(
                    f"{KIND}/{job[NAME]}", request, job["deployment"]
                )
            except Unanswered:
                if not left:
                    raise
                continue
            if response.status == 200:
                return response.body
        raise EngineError(
            f"The model answered {response.status}: {response.body.decode(errors='replace')}"
        )

    # ---- inside ---------------------------------------------------------------------------------
    def _end(self, name: str, word: str, reason: str = "") -> None:
        job = self._get(name)
        ended = clock.now_after(job["CreationTime"], job.get("TransformStartTime"))
        changes = {"TransformJobStatus": word, "TransformEndTime": ended}
        job = self._put(name, changes | ({"FailureReason": reason} if reason else {}))
        self._release(job["deployment"])

    def _release(self, deployment_id: str) -> None:
        """Release the replicas, which are not needed any more."""
        with self.records.transaction(), contextlib.suppress(NoSuchDeployment):
            self.records.delete(FACTS, deployment_id)
            self.serving.remove(deployment_id)

    def _put(self, name: str, changes: Json) -> Json:
        job = self._get(name) | changes
        job["LastModifiedTime"] = clock.now_after(job["CreationTime"], job.get("TransformEndTime"))
        self.records.put(KIND, name, job)
        return job


def records(file: IO[bytes], job: Json) -> Iterator[bytes]:
    """Yield the bodies of the requests for a file.

    A body is all of it, a line, or as many lines as fit.
    """
    payload = job.get("MaxPayloadInMB", PAYLOAD) or LARGEST_PAYLOAD
    most = payload << 20
    if job["TransformInput"].get("SplitType", "None") == "None":
        content = file.read(most + 1)
        if len(content) > most:
            raise EngineError(TOO_MUCH.format(payload))
        yield content
        return
    try:
        yield from _parts(files.lines(file, most), job, most)
    except OverLimit:
        raise EngineError(TOO_MUCH.format(payload)) from None


def _parts(lines: Iterable[bytes], job: Json, most: int) -> Iterator[bytes]:
    """Yield as many lines at a time as have so many bytes, or one."""
    if job.get("BatchStrategy") == "SingleRecord":
        most = 0
    part: list[bytes] = []
    size = 0
    for line in lines:
        if not line.strip():
            continue
        if part and size + len(line) > most:
            yield b"".join(part)
            part, size = [], 0
        part.append(line)
        size += len(line)
    if part:
        yield b"".join(part)


def _check(request: Json, objects: Objects) -> None:
    """Refuse a job that the service would, or that the local cloud cannot run."""
    given, resources = request["TransformInput"], request["TransformResources"]
    source = given["DataSource"]["S3DataSource"]
    if source["S3DataType"] != "S3Prefix":
        raise not_implemented(f"S3DataType {source['S3DataType']}; use S3Prefix")
    if given.get("SplitType", "None") not in ("None", "Line"):
        raise not_implemented(f"SplitType {given['SplitType']}; use Line")
    if given.get("CompressionType", "None") != "None":
        raise not_implemented(f"CompressionType {given['CompressionType']} of a transform job")
    if request.get("DataCaptureConfig"):
        raise not_implemented("DataCaptureConfig (requests kept in S3)")
    processing = request.get("DataProcessing") or {}
    for field in ("InputFilter", "OutputFilter"):
        if processing.get(field, ALL) != ALL:
            raise not_implemented(f"DataProcessing.{field} {processing[field]}")
    if processing.get("JoinSource", "None") != "None":
        raise not_implemented("DataProcessing.JoinSource (results joined with the input)")
    if resources["InstanceCount"] > MOST:
        raise invalid(f"InstanceCount: here a transform job has {MOST} instances at most")
    check_volume_key("TransformResources", resources)
    _check_payload(request)
    check_bucket("TransformInput", source["S3Uri"], objects)
    check_bucket(
        "TransformOutput.S3OutputPath", request["TransformOutput"]["S3OutputPath"], objects
    )


def _check_payload(request: Json) -> None:
    """Refuse more than 100 MB at once, as CreateTransformJob in the API reference does (read 2026).

    Whether the default payload counts is not said.
    """
    payload = request.get("MaxPayloadInMB", 0)
    if payload > LARGEST_PAYLOAD:
        raise invalid(f"MaxPayloadInMB is {payload}: it cannot be greater than {LARGEST_PAYLOAD}")
    at_once = request.get("MaxConcurrentTransforms", 0)
    if at_once * payload > LARGEST_PAYLOAD:
        raise invalid(
            f"MaxConcurrentTransforms * MaxPayloadInMB is {at_once} * {payload}: it cannot exceed"
            f" {LARGEST_PAYLOAD} MB"
        )
