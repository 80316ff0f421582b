"""Runs first in every Python of a job, whichever cloud's: its SDKs find the local cloud.

On the real services the SDKs in a job find their cloud by themselves. Here the job's environment
has the variables that `local_cloud.activate()` sets in a notebook, and this file does the rest of
what that does: not before the first SDK is imported, because most Pythons of a job import none.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # the module `typing` takes longer to import than all that is here
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

ROOT = __file__.rpartition("/local_cloud/")[0]  # of the checkout that serves this job
SDKS = frozenset(
    {
        "aiobotocore",
        "boto3",
        "botocore",
        "gcsfs",
        "google",
        "hypertune",
        "kfp",
        "s3fs",
        "sagemaker",
        "tensorflow",
    }
)


class _BeforeTheFirstSdk:
    """The first of the finders, until a module of an SDK is looked for."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Put the hooks in place, and have them find this module if one of them is for it."""
        if name.partition(".")[0] not in SDKS or self not in sys.meta_path:
            return None
        sys.meta_path.remove(self)
        # Only for these imports: the job's own modules come from elsewhere.
        sys.path.insert(0, ROOT)
        try:
            from local_cloud.client.sdks import HOOKS
            from local_cloud.client.sdks.after_import import after_import, finder
        finally:
            sys.path.remove(ROOT)
        for module, hook in HOOKS.items():
            after_import(module, hook)
        return finder.find_spec(name, path, target)


sys.meta_path.insert(0, _BeforeTheFirstSdk())
