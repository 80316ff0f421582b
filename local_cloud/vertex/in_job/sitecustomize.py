"""Runs first in every Python of a job that has an experiment: its SDK finds the local cloud.

On the real service a job's SDK finds Vertex AI by itself. It has no variable that says where else
to look, so that what `local_cloud.activate()` does in a notebook is done here.
"""

import os
import sys
from pathlib import Path
from types import ModuleType

ROOT = str(Path(__file__).resolve().parents[3])
sys.path.append(ROOT)  # of this checkout, and only for these imports
try:
    from local_cloud.after_import import after_import
    from local_cloud.sdks import HOOKS
finally:
    sys.path.remove(ROOT)


def point(aiplatform: ModuleType) -> None:
    """To the local cloud; and the project is said, for the SDK would ask a real service for it."""
    HOOKS["google.cloud.aiplatform"](aiplatform)
    aiplatform.init(
        project=os.environ["GOOGLE_CLOUD_PROJECT"], location=os.environ["CLOUD_ML_REGION"]
    )


after_import("google.cloud.aiplatform", point)
for module in ("google.api_core.exceptions", "google.api_core.grpc_helpers"):
    after_import(module, HOOKS[module])
