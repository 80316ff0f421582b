"""What Amazon's services cost in us-east-1 (Northern Virginia), in US dollars."""

from __future__ import annotations

from local_cloud.billing.prices.price import ListPrice, Rounding

REGION = "us-east-1"
PAGE = "https://aws.amazon.com/sagemaker/ai/pricing/"

# ---- SageMaker, by the hour ---------------------------------------------------------------------
# A month where the source has no day. All are on-demand prices of training, per instance.
TRAINING = {
    "ml.m5.large": ListPrice(0.115, PAGE, "", "quoted by others"),
    "ml.m5.xlarge": ListPrice(0.23, PAGE, "", "quoted by others"),
    # M5 is billed by its vCPUs: these have two and four times as many.
    "ml.m5.2xlarge": ListPrice(2 * 0.23, PAGE, "", "worked out: 2 × ml.m5.xlarge"),
    "ml.m5.4xlarge": ListPrice(4 * 0.23, PAGE, "", "worked out: 4 × ml.m5.xlarge"),
    "ml.g4dn.xlarge": ListPrice(0.736, PAGE, "2025-05", "quoted by others"),
    "ml.g5.xlarge": ListPrice(1.408, PAGE, "", "quoted by others, who agree"),
}
# What serves predictions has its own prices. Two public records quote the price list of real-time
# hosting (usage type USE1-Host:…) with the numbers of training; others give 0.269 for ml.m5.xlarge,
# without a date of the list. Of the GPUs no such record was found: theirs are those of training.
PRICE_LIST = (
    "https://pricing.us-east-1.amazonaws.com/offers/v1.0/aws/AmazonSageMaker/current/us-east-1/"
    "index.json"
)
HOSTING = {
    "ml.m5.large": ListPrice(0.115, PRICE_LIST, "2026-07-30", "quoted from the price list"),
    "ml.m5.xlarge": ListPrice(0.23, PRICE_LIST, "2026-09-28", "quoted from the price list"),
    "ml.g4dn.xlarge": ListPrice(0.736, PAGE, "", "not established: as for training"),
    "ml.g5.xlarge": ListPrice(1.408, PAGE, "", "not established: as for training"),
}
# Batch transform and processing are parts of their own in the price list. No record of their
# numbers was found.
TRANSFORM = PROCESSING = {
    name: each._replace(read="", sure="not established: as for training")
    for name, each in TRAINING.items()
}
# Notebook instances (usage type USE1-Notebk:…); their disks cost extra, at a price not known here.
NOTEBOOKS = {
    "ml.t2.medium": ListPrice(0.0464, PAGE, "", "quoted by others"),
    "ml.t3.medium": ListPrice(0.05, PAGE, "", "quoted by others, who agree"),
}
# BillableTimeInSeconds of a job, times its instances, is the time billed: whole seconds.
ROUNDING = Rounding(
    "SageMaker",
    1,
    "https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_DescribeTrainingJob.html",
    "2026-11-22",
    "from the API's reference",
)

# ---- S3, by the GB (2**30 bytes) and month: class Standard, the first 50 TB ---------------------
STORAGE = ListPrice(0.023, "https://aws.amazon.com/s3/pricing/", "2024-11", "quoted by others")
