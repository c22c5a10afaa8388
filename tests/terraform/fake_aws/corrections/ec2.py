"""EC2 keeps the description of a rule that names a group or a prefix list; moto forgets it."""

from __future__ import annotations

from typing import Any

from moto.ec2.models.security_groups import SecurityGroupRule


def apply() -> None:
    initialise = SecurityGroupRule.__init__

    def init(self: SecurityGroupRule, *given: Any, **named: Any) -> None:
        initialise(self, *given, **named)
        prefix_list = named.get("prefix_list_id") or next(filter(_is_prefix_list, given), {})
        self.prefix_list_description = prefix_list.get("Description")

    SecurityGroupRule.__init__ = init
    SecurityGroupRule.description = property(_description)


def _is_prefix_list(value: Any) -> bool:
    return isinstance(value, dict) and "PrefixListId" in value


def _description(rule: SecurityGroupRule) -> str | None:
    sources = (rule.ip_range, rule.source_group)
    described = (source.get("Description") for source in sources if source)
    return next(filter(None, described), rule.prefix_list_description)
