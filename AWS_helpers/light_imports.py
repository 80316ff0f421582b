"""Import jsonschema, which SageMaker's SDK uses, in a tenth of the time.

If the package rfc3987_syntax is there, as it is beside JupyterLab, jsonschema imports it to check
internationalised URIs, and that import builds 38 grammars: seconds of processor time. The SDK's
schemas contain no such URIs.
"""

from __future__ import annotations

import importlib
import sys
from importlib.abc import MetaPathFinder


class _Absent(MetaPathFinder):
    """Answer the import of rfc3987_syntax as if it were not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Raise ModuleNotFoundError for it, and leave other modules to the next finder."""
        if name == "rfc3987_syntax":
            raise ModuleNotFoundError(f"{name} is not needed here", name=name)


def import_jsonschema() -> None:
    """Import jsonschema without rfc3987_syntax, unless either is loaded."""
    sys.meta_path.insert(0, absent := _Absent())
    try:
        importlib.import_module("jsonschema")
    finally:
        sys.meta_path.remove(absent)
