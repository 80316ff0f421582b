"""Clients of services that the local cloud does not have: one sentence names the service, at once.

Nothing of these requests leaves, whichever library would have sent them.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable

import aiohttp
import google.auth
import google.auth.transport.requests
import httpx
import pytest
import requests
from google import genai
from google.api_core import grpc_helpers
from google.cloud import resourcemanager_v3

from local_cloud import LocalCloudError
from local_cloud.client.control import Status
from local_cloud.client.sdks.plain_http import guard_discovery, refuse_credentials

SPEECH = "https://speech.googleapis.com/v1/speech:recognize"
TOKEN = {"Authorization": "Bearer x"}


def ask_gemini(**options: object) -> None:
    genai.Client(**options).models.generate_content(model="gemini-3", contents="Hello")  # type: ignore[arg-type]


async def ask_gemini_asynchronously() -> None:
    client = genai.Client(api_key="key")
    await client.aio.models.generate_content(model="gemini-3", contents="Hello")


async def ask_gemini_live() -> None:
    async with genai.Client(api_key="key").aio.live.connect(model="gemini-3"):
        pass


def refresh_a_token() -> None:
    credentials, _ = google.auth.default()
    credentials.refresh(google.auth.transport.requests.Request())


async def send_with_aiohttp() -> None:
    async with aiohttp.ClientSession(headers=TOKEN) as session:
        await session.post(SPEECH)


async def send_with_httpx() -> None:
    async with httpx.AsyncClient() as client:
        await client.post(SPEECH, headers=TOKEN)


GEMINI = r"generative models \({}\) are not part of the local cloud, so nothing was sent"
HERE_NOT = r"{} is not part of the local cloud; restart the kernel with LOCAL_CLOUD_TARGET=cloud"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: ask_gemini(vertexai=True, project="p", location="us-central1"),
            GEMINI.format("us-central1-aiplatform.googleapis.com"),
        ),
        (lambda: ask_gemini(api_key="key"), GEMINI.format("generativelanguage.googleapis.com")),
        (lambda: asyncio.run(ask_gemini_asynchronously()), "generative models"),
        (lambda: asyncio.run(ask_gemini_live()), "generative models"),
        (refresh_a_token, "a service of Google's that is not part of the local cloud"),
        (
            lambda: grpc_helpers.create_channel("pubsub.googleapis.com:443"),
            HERE_NOT.format("pubsub.googleapis.com"),
        ),
        (lambda: resourcemanager_v3.FoldersClient(), "the local cloud answers over REST"),
        (lambda: requests.post(SPEECH, headers=TOKEN), HERE_NOT.format("speech.googleapis.com")),
        (lambda: requests.get(f"{SPEECH}?key=k"), HERE_NOT.format("speech.googleapis.com")),
        (lambda: httpx.post(SPEECH, headers=TOKEN), HERE_NOT.format("speech.googleapis.com")),
        (lambda: asyncio.run(send_with_httpx()), HERE_NOT.format("speech.googleapis.com")),
        (lambda: asyncio.run(send_with_aiohttp()), HERE_NOT.format("speech.googleapis.com")),
    ],
    ids=[
        "Gemini on Vertex AI",
        "Gemini with a key",
        "Gemini asynchronous",
        "Gemini live",
        "a token",
        "a channel",
        "a client over gRPC",
        "requests",
        "requests with a key",
        "httpx",
        "httpx asynchronous",
        "aiohttp",
    ],
)
def test_the_sentence_names_the_service(
    cloud: Status, call: Callable[[], object], words: str
) -> None:
    with pytest.raises(LocalCloudError, match=words):
        call()


def test_discovery_s_clients_are_led_here_or_refused(cloud: Status) -> None:
    """googleapiclient is not in this environment: this is what its clients send by."""
    module = types.ModuleType("google_auth_httplib2")
    module.AuthorizedHttp = type("AuthorizedHttp", (), {"request": lambda _, uri: uri})  # type: ignore[attr-defined]
    guard_discovery(module)
    http = module.AuthorizedHttp()
    buckets = "/storage/v1/b?project=p&alt=json"
    assert http.request(f"https://storage.googleapis.com{buckets}") == f"{cloud.url}{buckets}"
    jobs = "/v1/projects/p/locations/us-central1/customJobs"
    host = "https://us-central1-aiplatform.googleapis.com"
    assert http.request(host + jobs) == f"{cloud.url}{jobs}"
    with pytest.raises(LocalCloudError, match=r"translation\.googleapis\.com is not part of"):
        http.request("https://translation.googleapis.com/language/translate/v2/languages")


def test_public_data_may_be_downloaded(cloud: Status) -> None:
    """keras.datasets fetches from storage.googleapis.com, without credentials."""
    refuse_credentials("https://storage.googleapis.com/tensorflow/mnist.npz", {"Accept": "*/*"})
    refuse_credentials("https://example.com/", TOKEN)
