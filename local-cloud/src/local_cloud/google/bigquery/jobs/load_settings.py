"""Which settings of a load job are honoured here; the others are refused by name.

Source: JobConfigurationLoad in BigQuery's REST reference (read 2026).
"""

from __future__ import annotations

from typing import Any

from local_cloud.google.bigquery.api.errors import invalid, not_implemented

HONOURED = {
    "sourceUris",
    "destinationTable",
    "schema",
    "autodetect",
    "sourceFormat",
    "encoding",
    "writeDisposition",
    "createDisposition",
    "skipLeadingRows",
    "fieldDelimiter",
    "quote",
    "nullMarker",
    "nullMarkers",
    "allowJaggedRows",
    "ignoreUnknownValues",
    "maxBadRecords",
    "timePartitioning",
    "rangePartitioning",
    "clustering",
    "destinationTableProperties",
}
# What is so here in any case: quoted newlines are read, control characters stay, and lists of
# Parquet are lists.
HARMLESS = {"allowQuotedNewlines", "preserveAsciiControlCharacters", "parquetOptions"}
# Settings that ask for nothing with this value, which is the service's own default.
DEFAULTS = {
    "sourceColumnMatch": "POSITION",
    "fileSetSpecType": "FILE_SET_SPEC_TYPE_FILE_SYSTEM_MATCH",
}
DISPOSITIONS = {
    "writeDisposition": ("WRITE_APPEND", "WRITE_TRUNCATE", "WRITE_TRUNCATE_DATA", "WRITE_EMPTY"),
    "createDisposition": ("CREATE_IF_NEEDED", "CREATE_NEVER"),
    "encoding": ("UTF-8", "ISO-8859-1", "UTF-16BE", "UTF-16LE", "UTF-32BE", "UTF-32LE"),
}
ENCODINGS = {"UTF-8": "utf-8", "ISO-8859-1": "latin-1"}  # that are read here


def check(configuration: dict[str, Any]) -> None:
    """Refuse the configuration of a load job that asks for what is not done here."""
    if configuration.get("dryRun"):
        raise not_implemented("a dry run of a load job")
    settings = configuration["load"]
    for name, value in settings.items():
        is_given = value not in (None, "", 0, "0", False, [], {}, DEFAULTS.get(name))
        if is_given and name not in HONOURED | HARMLESS:
            raise not_implemented(f"load jobs with {name}")
    for name, known in DISPOSITIONS.items():
        if settings.get(name) and settings[name] not in known:
            raise invalid(f"{name}: {settings[name]!r} is none of {', '.join(known)}")
    if (encoding := settings.get("encoding")) and encoding not in ENCODINGS:
        raise not_implemented(f"load jobs with encoding {encoding}")
    if settings.get("nullMarker") and settings.get("nullMarkers"):
        raise invalid("nullMarker and nullMarkers cannot both be set")
    if settings.get("maxBadRecords") and settings.get("sourceFormat") == "NEWLINE_DELIMITED_JSON":
        raise not_implemented("load jobs of NEWLINE_DELIMITED_JSON with maxBadRecords")
