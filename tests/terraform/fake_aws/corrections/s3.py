"""S3 honours the conditions of a bucket's policy; moto would refuse all that a Deny names."""

from __future__ import annotations

import json
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket


def apply() -> None:
    FakeBucket.get_permission = _get_permission


def _get_permission(self: FakeBucket, action: str, resource: str) -> Any:
    """Without the conditional refusals, which tests judge by themselves."""
    if self.policy is None:
        return PermissionResult.NEUTRAL
    document = json.loads(self.policy)
    kept = [s for s in document["Statement"] if not (s["Effect"] == "Deny" and "Condition" in s)]
    if not kept:
        return PermissionResult.NEUTRAL
    policy = IAMPolicy(json.dumps({**document, "Statement": kept}))
    return policy.is_action_permitted(action, resource)
