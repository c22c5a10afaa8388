"""Prices, with their date and their sources, and what is assumed beside them."""

from __future__ import annotations

from datetime import date

from millrace.base.model import Frozen


class Prices(Frozen):
    """In USD."""

    broker_hour: dict[str, float]
    express_gb_in: float
    broker_gb_month: float
    vcpu_hour: float
    memory_gb_hour: float
    airflow_hour: dict[str, float]
    airflow_gb_month: float
    lake_gb_month: float
    lake_cold_gb_month: float
    puts_1000: float
    gets_1000: float
    endpoint_hour: float
    zone_gb: float
    alarm_month: float
    metric_month: float
    dashboard_month: float
    log_gb: float
    secret_month: float
    key_month: float


class Assumed(Frozen):
    message_bytes: int
    retention_days: float
    stored_per_byte: dict[str, float]
    batch_puts: int
    batch_gets: int
    cpu_s_per_million: float
    busy: float
    vcpus_per_core: int
    broker_metrics: int
    topic_metrics: int
    logs_gb: float
    airflow_gb: float


class Size(Frozen):
    """Of an environment, as its values.tf has it."""

    instance_type: str
    brokers: int
    storage_gb: float
    executors: int
    cores: int
    airflow: str

    @property
    def is_express(self) -> bool:
        return self.instance_type.startswith("express.")


class CostBook(Frozen):
    """What stands in terraform/prices.yaml."""

    region: str
    as_of: date
    sources: dict[str, str]
    prices: Prices
    broker_mb_s: dict[str, float]
    assumed: Assumed
    environments: dict[str, Size]
