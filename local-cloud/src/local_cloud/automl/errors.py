"""What is wrong with the data that AutoML was given."""

from __future__ import annotations

from local_cloud.errors import LocalCloudError


class BadData(LocalCloudError):
    """The data cannot be used; the message says which part, why, and what to do."""
