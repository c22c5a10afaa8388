"""EMR Serverless: release labels of Spark's own line, what moto drops, and an empty list."""

from __future__ import annotations

import re
from typing import Any

from moto.emrserverless.models import EMRServerlessBackend
from moto.emrserverless.responses import EMRServerlessResponse

# moto's regular expression knows emr-N.N.0 alone.
_KNOWN_TO_MOTO = "emr-7.0.0"
_KEPT = (
    "architecture",
    "runtimeConfiguration",
    "monitoringConfiguration",
    "imageConfiguration",
    "schedulerConfiguration",
    "interactiveConfiguration",
)


def apply() -> None:
    create = EMRServerlessBackend.create_application
    respond = EMRServerlessResponse.create_application

    def create_application(self: EMRServerlessBackend, **asked: Any) -> Any:
        label = asked["release_label"]
        kind = asked["application_type"].upper()
        known = {**asked, "application_type": kind, "release_label": _KNOWN_TO_MOTO}
        application = create(self, **known)
        # moto says STARTED at once, and the provider waits for CREATED.
        application.release_label, application.state = label, "CREATED"
        # One without a run is not one that is not there.
        self.job_runs[application.id] = []
        return application

    def create_application_response(self: EMRServerlessResponse) -> Any:
        response = respond(self)
        application = list(self.emrserverless_backend.applications.values())[-1]
        application.architecture = "X86_64"
        for name in _KEPT:
            value = self._get_param(name)
            if value:
                setattr(application, _snake(name), value)
        return response

    EMRServerlessBackend.create_application = create_application
    EMRServerlessResponse.create_application = create_application_response


def _snake(name: str) -> str:
    return re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)
