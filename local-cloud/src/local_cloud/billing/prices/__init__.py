"""The list prices of both clouds: plain data, each with its source, its date and how sure it is."""

from __future__ import annotations

from local_cloud.billing.prices import amazon, google
from local_cloud.billing.prices.price import MONTH, ListPrice, Rounding

__all__ = ["MONTH", "ListPrice", "Rounding", "amazon", "google"]
