"""Rights, in our words and in Kafka's."""

from __future__ import annotations

from typing import Any

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from millrace.provisioning.core.site_rights import Acl, Operation, Resource

_RESOURCES = {
    Resource.TOPIC: ResourceType.TOPIC,
    Resource.GROUP: ResourceType.GROUP,
    Resource.TRANSACTIONAL_ID: ResourceType.TRANSACTIONAL_ID,
}
_OPERATIONS = {
    Operation.READ: AclOperation.READ,
    Operation.WRITE: AclOperation.WRITE,
    Operation.DESCRIBE: AclOperation.DESCRIBE,
    Operation.CREATE: AclOperation.CREATE,
    Operation.ALTER: AclOperation.ALTER,
}
_RESOURCES_BACK: dict[Any, Resource] = {kafka: ours for ours, kafka in _RESOURCES.items()}
_OPERATIONS_BACK: dict[Any, Operation] = {kafka: ours for ours, kafka in _OPERATIONS.items()}
# None is any name, any principal, any host.
_ANY: Any = None
EVERY_ACL = AclBindingFilter(
    ResourceType.ANY,
    _ANY,
    ResourcePatternType.ANY,
    _ANY,
    _ANY,
    AclOperation.ANY,
    AclPermissionType.ANY,
)


def kafka_acl(acl: Acl) -> AclBinding:
    pattern = ResourcePatternType.PREFIXED if acl.prefixed else ResourcePatternType.LITERAL
    return AclBinding(
        _RESOURCES[acl.resource],
        acl.name,
        pattern,
        f"User:{acl.user}",
        "*",
        _OPERATIONS[acl.operation],
        AclPermissionType.ALLOW,
    )


def exactly(acl: Acl) -> AclBindingFilter:
    """Finds this right and no other."""
    one = kafka_acl(acl)
    return AclBindingFilter(
        one.restype,
        one.name,
        one.resource_pattern_type,
        one.principal,
        one.host,
        one.operation,
        one.permission_type,
    )


def our_acl(binding: AclBinding) -> Acl | None:
    """An ACL of the kinds we make; others are somebody else's and none of our business."""
    resource = _RESOURCES_BACK.get(binding.restype)
    operation = _OPERATIONS_BACK.get(binding.operation)
    allows_all_hosts = (binding.permission_type, binding.host) == (AclPermissionType.ALLOW, "*")
    if resource is None or operation is None or not allows_all_hosts:
        return None
    return Acl(
        user=binding.principal.removeprefix("User:"),
        operation=operation,
        resource=resource,
        name=binding.name,
        prefixed=binding.resource_pattern_type == ResourcePatternType.PREFIXED,
    )
