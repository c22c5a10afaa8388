"""What an environment costs in a month, part by part, and what each part grows by."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from millrace.base.model import Frozen
from millrace.cloud.core.cost_book import CostBook, Size

HOURS, DAYS = 730, 30
SECONDS = DAYS * 86_400
_GB, _MB = 1e9, 1e6
_ZONES = 3
ENDPOINTS = 14
_KEYS = 4
# Of the users that are no site's.
_PLATFORM_USERS = 2
_ALARMS, _ALARMS_OF_PIPELINE, _METRICS_OF_PIPELINE = 5, 3, 3
_COPIES = 3
# A month until objects move to Intelligent-Tiering (terraform/modules/lake), which waits for one.
_WARM_DAYS = 60
# EMR Serverless rents no less memory with a vCPU.
_GB_OF_VCPU = 2
_DRIVERS_VCPUS = 1


class Load(Frozen):
    """What is sent, into how many pipelines, and for how long it stays."""

    rate: float
    message_bytes: int
    sites: int = 2
    topics: int = 1
    pipelines: int = 1
    freshness_s: float = 2.0
    # By layer; for ever is ten years here.
    keep_days: dict[str, float]

    @property
    def bytes_s(self) -> float:
        return self.rate * self.message_bytes

    @property
    def gb_month(self) -> float:
        return self.bytes_s * SECONDS / _GB


class CostLine(Frozen):
    """One line. `first_month` while the lake fills; `full` once old rows go as new ones come."""

    name: str
    amount: str
    first_month: float
    full: float


@dataclass(frozen=True)
class Estimate:
    book: CostBook
    size: Size
    load: Load

    @property
    def parts(self) -> list[CostLine]:
        return [*self._kafka(), *self._jobs(), self._airflow(), *self._lake(), *self._rest()]

    @property
    def brokers(self) -> int:
        """Three at a time; one in three may be away."""
        mb_s = self.load.bytes_s / _MB
        takes = self.book.broker_mb_s[self.size.instance_type] * (1 - 1 / _ZONES)
        needed = math.ceil(mb_s / takes)
        return max(self.size.brokers, math.ceil(needed / _ZONES) * _ZONES)

    @property
    def vcpus(self) -> int:
        """Of one job: its driver, and executors that are not busy all the time."""
        assumed = self.book.assumed
        cores = self.load.rate / self.load.pipelines * assumed.cpu_s_per_million / 1e6
        needed = math.ceil(cores * assumed.vcpus_per_core / assumed.busy)
        return _DRIVERS_VCPUS + max(self.size.executors * self.size.cores, needed)

    def _kafka(self) -> Iterator[CostLine]:
        prices, load = self.book.prices, self.load
        hours = self.brokers * HOURS
        hourly = prices.broker_hour[self.size.instance_type]
        yield _always("brokers", f"{self.brokers} {self.size.instance_type}", hours * hourly)
        kept = load.bytes_s * 86_400 * self.book.assumed.retention_days / _GB
        if self.size.is_express:
            yield _always("broker storage", f"{kept:,.0f} GB", kept * prices.broker_gb_month)
            data_in = load.gb_month * prices.express_gb_in
            yield _always("data in", f"{load.gb_month:,.0f} GB", data_in)
        else:
            stored = max(self.brokers * self.size.storage_gb, kept * _COPIES)
            yield _always("broker storage", f"{stored:,.0f} GB", stored * prices.broker_gb_month)
        # Two of three brokers are in another zone than who reads.
        across = load.gb_month * load.pipelines * (1 - 1 / _ZONES)
        yield _always("between zones", f"{across:,.0f} GB", across * prices.zone_gb)

    def _jobs(self) -> Iterator[CostLine]:
        prices = self.book.prices
        vcpus = self.vcpus * self.load.pipelines
        hourly = vcpus * (prices.vcpu_hour + _GB_OF_VCPU * prices.memory_gb_hour)
        yield _always("jobs", f"{vcpus} vCPU, {vcpus * _GB_OF_VCPU} GB", hourly * HOURS)

    def _airflow(self) -> CostLine:
        prices = self.book.prices
        metadata = self.book.assumed.airflow_gb * prices.airflow_gb_month
        cost = prices.airflow_hour[self.size.airflow] * HOURS + metadata
        return _always("Airflow", self.size.airflow, cost)

    def _lake(self) -> Iterator[CostLine]:
        prices, assumed = self.book.prices, self.book.assumed
        daily = self.load.bytes_s * 86_400 / _GB
        for layer, share in assumed.stored_per_byte.items():
            days = self.load.keep_days[layer]
            warm = daily * share * min(_WARM_DAYS, days)
            cold = daily * share * max(0.0, days - _WARM_DAYS)
            yield CostLine(
                name=f"lake, {layer}",
                amount=f"{warm + cold:,.0f} GB after {days:,.0f} days",
                # It fills evenly, so its first month has the half on average.
                first_month=daily * share * min(DAYS, days) / 2 * prices.lake_gb_month,
                full=warm * prices.lake_gb_month + cold * prices.lake_cold_gb_month,
            )
        batches = SECONDS / self.load.freshness_s * self.load.sites * self.load.pipelines
        puts, gets = batches * assumed.batch_puts, batches * assumed.batch_gets
        cost = puts / 1000 * prices.puts_1000 + gets / 1000 * prices.gets_1000
        yield _always("lake, requests", f"{puts / 1e6:,.1f} M puts", cost)

    def _rest(self) -> Iterator[CostLine]:
        prices, assumed, load = self.book.prices, self.book.assumed, self.load
        hours = ENDPOINTS * _ZONES * HOURS
        yield _always("endpoints", f"{ENDPOINTS} in {_ZONES} zones", hours * prices.endpoint_hour)
        of_topics = assumed.topic_metrics * load.sites * load.topics
        metrics = self.brokers * (assumed.broker_metrics + of_topics)
        metrics += _METRICS_OF_PIPELINE * load.pipelines
        alarms = _ALARMS + _ALARMS_OF_PIPELINE * load.pipelines
        watch = metrics * prices.metric_month + alarms * prices.alarm_month
        watch += prices.dashboard_month + assumed.logs_gb * prices.log_gb
        yield _always("metrics, alarms, logs", f"{metrics} metrics, {alarms} alarms", watch)
        secrets = load.sites + _PLATFORM_USERS
        held = secrets * prices.secret_month + _KEYS * prices.key_month
        yield _always("secrets and keys", f"{secrets} and {_KEYS}", held)


def _always(name: str, amount: str, cost: float) -> CostLine:
    return CostLine(name=name, amount=amount, first_month=cost, full=cost)
