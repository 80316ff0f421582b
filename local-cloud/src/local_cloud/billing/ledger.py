"""The ledger: bill(platform) reads what is on record, and prices it.

    print(bill(platform))

Everything comes from the records and the buckets, at the moment of the call: nothing runs here,
and nothing is kept but the sums of buckets with very many objects (bucket_bytes.py).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain

from local_cloud.billing import bucket_bytes, query_records, run_records
from local_cloud.billing.bucket_bytes import BucketBytes
from local_cloud.billing.prices import MONTH, ListPrice
from local_cloud.billing.removals import BUCKETS, removal
from local_cloud.billing.tariffs import QUERIES, ROUNDINGS, RUNS, SERVICES, STORAGE, tariff
from local_cloud.client.bill_rows import Bill, Leak, Row
from local_cloud.engine.jobs.rental_records import Rentals
from local_cloud.engine.rental import Rental
from local_cloud.platform import Platform
from local_cloud.store.errors import NoSuchBucket
from local_cloud.store.history import Held
from local_cloud.store.objects import Objects
from local_cloud.store.records import Records

DAY = 24 * 3600
GB, TIB = 2**30, 2**40


def bill(platform: Platform, now: float | None = None) -> Bill:
    """Return what everything has cost until now, and what still costs money.

    May take as long as it takes to list every object: call it in a thread. now: seconds since the
    epoch.
    """
    at = time.time() if now is None else now
    rows: list[Row] = [*_of_queries(platform.records), *_of_runs(platform.records)]
    leaks: list[Leak] = []
    queued: list[Leak] = []
    with platform.records.transaction():  # none is seen twice, or not at all
        rentals = list(Rentals(platform.records))
    for rental in rentals:
        rows += (rental_rows := list(price_rental(rental, at)))
        if rental.is_running:
            leaks.append(_leak(rental, rental_rows, at))
        elif rental.is_queued:
            queued.append(_leak(rental, rental_rows, at))
    for row, leak in chain(_of_buckets("gs", platform.gs, at), _of_buckets("s3", platform.s3, at)):
        rows.append(row)
        leaks += [leak] if leak else []
    leaks.sort(key=lambda leak: -(leak.dollars_per_day or 0.0))
    return Bill(at, sorted(rows, key=lambda row: row.since), leaks, queued)


# ---- machines, by the hour ----------------------------------------------------------------------
def price_rental(rental: Rental, now: float) -> Iterator[Row]:
    """Yield a row of the bill for each type of machine and of GPU, as it stands now."""
    if not rental.spans:
        return
    prices = tariff(rental.rented.cloud, rental.rented.kind)
    hours = count_billed_seconds(rental, now) / 3600
    for machines in rental.rented.machines:
        name = machines.type or "a machine of unknown type"
        price = prices.machines.get(machines.type)
        yield _row(rental, name, count=machines.count, hours=hours, price=price)
        if machines.gpu:
            count = machines.count * machines.gpu_count
            yield _row(
                rental, machines.gpu, count=count, hours=hours, price=prices.gpus.get(machines.gpu)
            )


def count_billed_seconds(rental: Rental, now: float) -> float:
    """Return the seconds of one machine of each type, rounded as the service rounds them."""
    rented = rental.rented
    runs = rental.runs(now)
    seconds = [rented.scale * max(0.0, (run.until or now) - run.since) for run in runs]
    if tariff(rented.cloud, rented.kind).together:
        seconds = [sum(seconds)]
    rounding = ROUNDINGS.get(rented.cloud)
    return sum(map(rounding.round_up, seconds) if rounding else seconds)


def _row(rental: Rental, name: str, *, count: int, hours: float, price: ListPrice | None) -> Row:
    most = max(span.times for span in rental.spans)
    upto = "up to " if len(rental.spans) > 1 and most > 1 else ""
    rented = rental.rented
    row = _price_row(
        SERVICES.get(rented.cloud, rented.cloud),
        _what(rental),
        on=f"{upto}{count * most} × {name}{_spot(rental)}",
        when=(rental.spans[0].since, rental.spans[-1].until),
        amount=(hours * count, "hours"),
        price=price,
    )
    owner = rented.owner if rented.owner != rented.name else ""
    return replace(
        row,
        resource=rented.name,
        owner=owner,
        kind=rented.kind,
        seconds=hours * count * 3600,
    )


def _leak(rental: Rental, rows: list[Row], now: float) -> Leak:
    """Return what a rental costs from now on, or when its turn comes; rows: what it has cost."""
    rented, times = rental.rented, rental.times or 1
    prices = tariff(rented.cloud, rented.kind)
    parts = [
        (each.type or "?", each.count, prices.machines.get(each.type)) for each in rented.machines
    ]
    parts += [
        (each.gpu, each.count * each.gpu_count, prices.gpus.get(each.gpu))
        for each in rented.machines
        if each.gpu
    ]
    rates = [count * price.usd if price else None for _, count, price in parts]
    known = [rate for rate in rates if rate is not None]
    return Leak(
        cloud=SERVICES.get(rented.cloud, rented.cloud),
        what=_what(rental),
        on=" and ".join(f"{times * count} × {name}" for name, count, _ in parts) + _spot(rental),
        since=rental.spans[0].since if rental.spans else now,
        dollars_per_day=24 * times * sum(known) if len(known) == len(rates) else None,
        remove=removal(rented),
        dollars=sum(row.dollars or 0.0 for row in rows),
        kind=rented.kind,
        resource=rented.name,
    )


def _what(rental: Rental) -> str:
    """Return the service's word and the end of the resource's name, by which people look for it."""
    return f"{rental.rented.kind} {rental.rented.name.rsplit('/', 1)[-1]}"


def _spot(rental: Rental) -> str:
    return ", spot: priced as on demand" if rental.rented.spot else ""


# ---- bytes --------------------------------------------------------------------------------------
def _of_buckets(scheme: str, objects: Objects, now: float) -> Iterator[tuple[Row, Leak | None]]:
    """Yield a row for each bucket that holds or has held something; a leak too if it still does."""
    past, now_stored = dict(objects.list_held()), {}
    for bucket in objects.buckets():
        # Since they were created: a change of an object's metadata begins nothing anew.
        with suppress(NoSuchBucket):  # it has been deleted since
            state = (bucket.created, past.get(bucket.name))
            now_stored[bucket.name] = bucket_bytes.of_bucket(objects, bucket.name, now, state=state)
    for name in sorted({*past, *now_stored}):
        held = now_stored.get(name)
        if held and held.size:
            yield _of_full_bucket(f"{scheme}://{name}", held, past=past.get(name))
        elif name in past and past[name].byte_seconds:
            on = "empty now" if name in now_stored else "deleted"
            yield _of_empty_bucket(f"{scheme}://{name}", on, past[name]), None


def _of_full_bucket(uri: str, held: BucketBytes, *, past: Held | None) -> tuple[Row, Leak]:
    """held: what the bucket holds; past: what it holds no more."""
    scheme, name = uri.split("://")
    service, price = STORAGE[scheme]
    size, amount, since = held.size / GB, held.byte_seconds, held.since
    if past:
        amount, since = amount + past.byte_seconds, min(since, past.since)
    what, on = f"bucket {uri}", f"{size * 1024:.3g} MB" if size < 1 else f"{size:.3g} GB"
    row = _price_row(service, what, on=on, when=(since, None), amount=_months(amount), price=price)
    per_day = size * price.usd * DAY / MONTH
    remove = BUCKETS[scheme].format(name)
    return row, Leak(service, what, on, since, per_day, remove, row.dollars or 0.0, "bucket")


def _of_empty_bucket(uri: str, on: str, past: Held) -> Row:
    service, price = STORAGE[uri.partition("://")[0]]
    when = (past.since, past.until)
    return _price_row(
        service, f"bucket {uri}", on=on, when=when, amount=_months(past.byte_seconds), price=price
    )


def _months(byte_seconds: float) -> tuple[float, str]:
    return byte_seconds / GB / MONTH, "GB-months"


# ---- what is billed by the bytes that it processes, or by the piece -----------------------------
def _of_queries(records: Records) -> Iterator[Row]:
    for query in query_records.list_queries(records):
        size = (query.billed / TIB, "TiB")
        on = f"{query.processed / 2**20:.3g} MB processed"
        what, price = f"{query.kind} {query.name}", QUERIES.get(query.kind)
        yield _price_row(
            "BigQuery", what, on=on, when=(query.at, query.at), amount=size, price=price
        )


def _of_runs(records: Records) -> Iterator[Row]:
    for run in run_records.list_runs(records):
        service, what = SERVICES[run.cloud], f"{run.kind} {run.name.rsplit('/', 1)[-1]}"
        price = RUNS.get((run.cloud, run.kind))
        row = _price_row(
            service, what, on="the fee", when=(run.at, run.at), amount=(1, "runs"), price=price
        )
        yield replace(row, resource=run.name, kind=run.kind)


def _price_row(
    cloud: str,
    what: str,
    *,
    on: str,
    when: tuple[float, float | None],
    amount: tuple[float, str],
    price: ListPrice | None,
) -> Row:
    if price is None:
        return Row(cloud, what, on, *when, *amount, None, None)
    dollars = amount[0] * price.usd
    return Row(cloud, what, on, *when, *amount, price.usd, dollars, *price[1:])
