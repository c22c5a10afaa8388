"""Tells Airflow of the Fleet page. Every component imports this; only the API server needs more."""

from __future__ import annotations

from typing import Any

from airflow.plugins_manager import AirflowPlugin


class _OnlyWhenAsked:
    """FastAPI and the page's code, loaded by whoever reads the attribute."""

    def __get__(self, instance: object, owner: type) -> list[dict[str, Any]]:
        from millrace_airflow.fleet.fleet_api import PREFIX, app

        return [{"app": app, "url_prefix": PREFIX, "name": "Fleet"}]


class FleetPlugin(AirflowPlugin):
    name = "fleet"
    fastapi_apps = _OnlyWhenAsked()
    react_apps = [  # noqa: RUF012 - Airflow reads it so
        {
            "name": "Fleet",
            "bundle_url": "/fleet/fleet.js",
            "destination": "nav",
            "url_route": "fleet",
            "nav_top_level": True,
        }
    ]
