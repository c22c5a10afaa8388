"""A configuration of MSK brokers, and its revisions."""

from __future__ import annotations

from dataclasses import dataclass

from tests.terraform.fake_aws.service import CREATED_AT, Json


@dataclass
class Configuration:
    arn: str
    revisions: list[Json]

    def describe(self) -> Json:
        first = self.revisions[0]
        return {
            "arn": self.arn,
            "name": first["name"],
            "creationTime": CREATED_AT,
            "description": self._description(len(self.revisions)),
            "kafkaVersions": first.get("kafkaVersions", []),
            "state": "ACTIVE",
            "latestRevision": self._revision(len(self.revisions)),
        }

    def describe_revision(self, number: int) -> Json:
        properties = self.revisions[number - 1]["serverProperties"]
        return {"arn": self.arn, **self._revision(number), "serverProperties": properties}

    def _revision(self, number: int) -> Json:
        description = self._description(number)
        return {"revision": number, "creationTime": CREATED_AT, "description": description}

    def _description(self, number: int) -> str:
        return str(self.revisions[number - 1].get("description", ""))
