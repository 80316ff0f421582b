"""Which settings of a load job are honoured here; the others are refused by name.

Source: JobConfigurationLoad in BigQuery's REST reference (read 2026).
"""

from __future__ import annotations

from typing import Any

from local_cloud.google.bigquery.api.errors import invalid, not_implemented

HONOURED = {
    *("sourceUris", "destinationTable", "schema", "autodetect", "sourceFormat", "encoding"),
    *("writeDisposition", "createDisposition", "skipLeadingRows", "fieldDelimiter", "quote"),
    *("nullMarker", "allowJaggedRows", "ignoreUnknownValues"),
    *("timePartitioning", "rangePartitioning", "clustering"),
}
# What is so here in any case: quoted newlines are read, and lists of Parquet are lists.
HARMLESS = {"allowQuotedNewlines", "parquetOptions"}
DISPOSITIONS = {
    "writeDisposition": ("WRITE_APPEND", "WRITE_TRUNCATE", "WRITE_EMPTY"),
    "createDisposition": ("CREATE_IF_NEEDED", "CREATE_NEVER"),
}


def check(configuration: dict[str, Any]) -> None:
    """Refuse the configuration of a load job that asks for what is not done here."""
    if configuration.get("dryRun"):
        raise not_implemented("a dry run of a load job")
    settings = configuration["load"]
    for name, value in settings.items():
        if name not in HONOURED | HARMLESS and value not in (None, "", 0, "0", False, [], {}):
            raise not_implemented(f"load jobs with {name}")
    for name, known in DISPOSITIONS.items():
        if settings.get(name) and settings[name] not in known:
            raise invalid(f"{name}: {settings[name]!r} is none of {', '.join(known)}")
