"""KMS says after how many days a key rotates."""

from __future__ import annotations

import json

from moto.kms.responses import KmsResponse

_DEFAULT_DAYS = 365


def apply() -> None:
    status = KmsResponse.get_key_rotation_status

    def get_key_rotation_status(self: KmsResponse) -> str:
        answer = json.loads(status(self))
        if answer["KeyRotationEnabled"]:
            answer["RotationPeriodInDays"] = _DEFAULT_DAYS
        return json.dumps(answer)

    KmsResponse.get_key_rotation_status = get_key_rotation_status
