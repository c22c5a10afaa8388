"""EC2 keeps the description of a rule that names another group; moto forgets it."""

from __future__ import annotations

from moto.ec2.models.security_groups import SecurityGroupRule


def apply() -> None:
    SecurityGroupRule.description = property(_description)


def _description(rule: SecurityGroupRule) -> str | None:
    described: str | None = rule.ip_range.get("Description")
    return described or (rule.source_group or {}).get("Description")
