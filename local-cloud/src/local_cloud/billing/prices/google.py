"""What Google's services cost in us-central1 (Iowa), in US dollars."""

from __future__ import annotations

from local_cloud.billing.prices.price import ListPrice, Rounding

REGION = "us-central1"
PAGE = "https://cloud.google.com/products/gemini-enterprise-agent-platform/pricing"

# ---- Vertex AI, by the hour ---------------------------------------------------------------------
# Three public records, of 2026-09-06, 2026-09-08 and 2026-10-07, quote the page with this number.
_N1_STANDARD_4 = ListPrice(0.21849885, PAGE, "2026-10-07", "as on the price page")


def _times(factor: int) -> ListPrice:
    """Return the price of a larger n1-standard machine: N1 is billed by the vCPU and by the GiB.

    Source of that rule: https://cloud.google.com/compute/resource-based-pricing
    """
    sure = f"worked out: {factor} × n1-standard-4"
    return _N1_STANDARD_4._replace(usd=factor * _N1_STANDARD_4.usd, sure=sure)


TRAINING = {
    "n1-standard-4": _N1_STANDARD_4,
    "n1-standard-8": _times(2),
    "n1-standard-16": _times(4),
    "n1-standard-32": _times(8),
    # As for n1-standard-4, 1.15 times Compute Engine's price, which is $0.134012.
    "e2-standard-4": ListPrice(0.1541138, PAGE, "", "worked out: 1.15 × Compute Engine's price"),
}
# A pipeline's task runs on this machine if it asks for none (Google's page "Specify the machine
# configuration for a pipeline step").
TASK_MACHINE = "e2-standard-4"
# Each run of a pipeline costs as much besides.
PIPELINE_RUN = ListPrice(
    0.03,
    "https://cloud.google.com/vertex-ai/docs/tabular-data/tabular-workflows/pricing",
    "",
    "as on Google's page",
)
TRAINING_GPUS = {
    # To Compute Engine's $0.35 it is as 0.21849885 to that of n1-standard-4: 1.15 to 1.
    "NVIDIA_TESLA_T4": ListPrice(0.4025, PAGE, "", "quoted by others"),
}
# What serves predictions has its own prices. A public record of 2026-06-15 quotes these.
PREDICTION = {
    name: ListPrice(usd, PAGE, "2026-06-15", "quoted by others")
    for name, usd in {
        "n1-standard-2": 0.1095,
        "n1-standard-4": 0.2190,
        "n1-standard-8": 0.4380,
        "n1-standard-16": 0.8760,
    }.items()
}
# A node hour of AutoML. A public record of 2026-10-07 has both verbatim from the page.
AUTOML_TABLES = ListPrice(21.252, PAGE, "2026-10-07", "as on the price page")
AUTOML_IMAGES = ListPrice(3.465, PAGE, "2026-10-07", "as on the price page")
# Two public records of 2026 quote "billed in 30-second increments"; the page itself was not seen.
ROUNDING = Rounding("Vertex AI", 30, PAGE, "2026-10", "quoted by others")

# ---- Cloud Storage, by the GB (2**30 bytes) and month: class Standard ---------------------------
STORAGE = ListPrice(
    0.020,
    "https://cloud.google.com/storage/pricing-examples",
    "2026-11-23",
    "as in Google's own example; the first 5 GB of a month, which are free, are not deducted",
)

# ---- BigQuery, by the TiB that a query processes, on demand -------------------------------------
BIGQUERY = "https://cloud.google.com/bigquery/pricing"
QUERY = ListPrice(
    6.25,
    BIGQUERY,
    "2026-11-23",
    "quoted by others, who agree; the first TiB of a month, which is free, is not deducted",
)
# Training by BigQuery ML itself, of models such as a logistic regression, by the TiB as well.
CREATE_MODEL = ListPrice(
    312.5,
    BIGQUERY,
    "2026-09-05",
    "quoted by others; the first 10 GiB of a month, which are free, are not deducted",
)
# The least that is billed of it: 10 MiB.
BIGQUERY_ML = CREATE_MODEL._replace(usd=10 / 1024**2 * CREATE_MODEL.usd)
MB = 2**20
QUERY_ROUNDING = Rounding(
    "BigQuery",
    MB,
    BIGQUERY,
    "2026-11-23",
    "quoted by others: at least 10 MB of each table that a query reads",
    minimum=10 * MB,
)
