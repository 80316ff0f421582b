"""The extras, as in `local-cloud-emulator[NAME]`: the libraries of services that few jobs need."""

from __future__ import annotations

from importlib.util import find_spec

# By the extra's name in pyproject.toml, what its packages are imported as.
LIBRARIES = {
    "automl": ("pandas", "PIL", "sklearn"),
    "bigquery": ("duckdb", "pandas", "pyarrow", "sklearn", "sqlglot"),
}


def explain_missing(name: str) -> str:
    """Return what an extra lacks, and how to install it; "" if nothing is missing."""
    absent = [library for library in LIBRARIES[name] if find_spec(library) is None]
    if not absent:
        return ""
    return (
        f"without {', '.join(absent)}; run `pip install 'local-cloud-emulator[{name}]'` where its"
        " server runs, stop the local cloud and start it again"
    )
