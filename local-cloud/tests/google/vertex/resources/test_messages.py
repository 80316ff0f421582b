"""The server has Vertex AI's messages without its clients, which can still be imported."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "lines",
    [
        # what a server's start would otherwise spend most of its time on
        """
        import local_cloud.google.services, sys
        assert "google.cloud.aiplatform_v1.types.custom_job" in sys.modules
        assert not [name for name in sys.modules if name.startswith(package + ".services")]
        """,
        # the library, when it is imported later: whole, with the same messages
        """
        import local_cloud.google.services, sys
        from local_cloud.google.vertex.endpoints import endpoints
        from google.cloud import aiplatform_v1
        from google.cloud.aiplatform_v1 import types
        assert aiplatform_v1.Endpoint is types.Endpoint is endpoints.Endpoint
        assert aiplatform_v1.JobServiceClient and sys.modules[package] is aiplatform_v1
        """,
        # the library, when it was there first
        """
        from google.cloud import aiplatform_v1
        from local_cloud.google.vertex.resources import messages
            from local_cloud.google.vertex.endpoints import endpoints
        assert aiplatform_v1.Endpoint is endpoints.Endpoint and aiplatform_v1.JobServiceClient
        """,
    ],
)
def test_messages_alone_and_beside_the_whole_library(lines: str) -> None:
    code = "package = 'google.cloud.aiplatform_v1'\n"
    code += "\n".join(line.strip() for line in lines.splitlines())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
