"""Jobs with and without mounts."""

from __future__ import annotations

import pytest

from local_cloud.engine import mounts


@pytest.fixture(params=["mounted", "rewritten"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With and without mount namespaces, as machines allow them or not."""
    real = mounts.available()
    if request.param == "mounted" and not real:
        pytest.skip("this machine allows no mounts")
    monkeypatch.setattr(mounts, "available", lambda: request.param == "mounted")
    return str(request.param)
