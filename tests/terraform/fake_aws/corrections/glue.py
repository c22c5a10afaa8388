"""Glue keeps the tags a schema registry is made with."""

from __future__ import annotations

from typing import Any

from moto.glue.models import GlueBackend


def apply() -> None:
    create = GlueBackend.create_registry

    def create_registry(
        self: GlueBackend,
        registry_name: str,
        description: str | None = None,
        tags: dict[str, str] | None = None,
    ) -> Any:
        answer = create(self, registry_name, description, tags)
        if tags:
            self.tag_resource(self.registries[registry_name].registry_arn, tags)
        return answer

    GlueBackend.create_registry = create_registry
