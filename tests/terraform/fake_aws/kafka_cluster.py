"""One MSK cluster: what it was asked for, with AWS's defaults."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.terraform.fake_aws.service import ACCOUNT, CREATED_AT, Json

_PORTS = {"iam": 9098, "scram": 9096}


@dataclass
class Cluster:
    arn: str
    region: str
    info: Json
    secrets: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.info["clusterName"])

    @property
    def provisioned(self) -> Json:
        provisioned: Json = self.info["provisioned"]
        return provisioned

    def bootstrap_brokers(self) -> Json:
        sasl = self.provisioned.get("clientAuthentication", {}).get("sasl", {})
        return {
            f"bootstrapBrokerStringSasl{kind.title()}": self._brokers(port)
            for kind, port in _PORTS.items()
            if sasl.get(kind, {}).get("enabled")
        }

    def _brokers(self, port: int) -> str:
        domain = f"{self.name}.test.kafka.{self.region}.amazonaws.com"
        return ",".join(f"b-{number}.{domain}:{port}" for number in (1, 2, 3))

    def change(self, what: str, body: Json) -> None:
        """As far as it is read back."""
        version = int(self.info["currentVersion"].removeprefix("K")) + 1
        self.info["currentVersion"] = f"K{version}"
        software = self.provisioned["currentBrokerSoftwareInfo"]
        match what:
            case "nodes/count":
                self.provisioned["numberOfBrokerNodes"] = body["targetNumberOfBrokerNodes"]
            case "nodes/type":
                nodes = self.provisioned["brokerNodeGroupInfo"]
                nodes["instanceType"] = body["targetInstanceType"]
            case "version":
                software["kafkaVersion"] = body["targetKafkaVersion"]
            case "configuration":
                software |= _configuration(body["configurationInfo"])
            case "monitoring" | "security":
                self.provisioned |= {k: v for k, v in body.items() if k != "currentVersion"}


def new_cluster(arn: str, region: str, body: Json) -> Cluster:
    """The older call has all in one level, the newer one has `provisioned`."""
    asked = body.get("provisioned") or {
        key: value for key, value in body.items() if key not in ("clusterName", "tags")
    }
    info = {
        "clusterArn": arn,
        "clusterName": body["clusterName"],
        "clusterType": "PROVISIONED",
        "creationTime": CREATED_AT,
        "currentVersion": "K1",
        "state": "ACTIVE",
        "provisioned": _with_defaults(asked, region),
    }
    return Cluster(arn, region, info)


def flat(info: Json) -> Json:
    rest = {k: v for k, v in info.items() if k not in ("provisioned", "clusterType")}
    return {**rest, **info["provisioned"], "stateInfo": {}}


def _with_defaults(asked: Json, region: str) -> Json:
    rest = {k: v for k, v in asked.items() if k not in ("kafkaVersion", "configurationInfo")}
    configuration = asked.get("configurationInfo")
    return {
        "enhancedMonitoring": "DEFAULT",
        "openMonitoring": _no_open_monitoring(),
        **({} if _is_express(asked) else {"storageMode": "LOCAL"}),
        **rest,
        "currentBrokerSoftwareInfo": {
            "kafkaVersion": asked["kafkaVersion"],
            **(_configuration(configuration) if configuration else {}),
        },
        "brokerNodeGroupInfo": _nodes(asked),
        "encryptionInfo": _encryption(asked.get("encryptionInfo", {}), region),
    }


def _is_express(asked: Json) -> bool:
    return str(asked["brokerNodeGroupInfo"]["instanceType"]).startswith("express.")


def _nodes(asked: Json) -> Json:
    disk = {} if _is_express(asked) else {"storageInfo": {"ebsStorageInfo": {"volumeSize": 1000}}}
    return {
        "brokerAZDistribution": "DEFAULT",
        "connectivityInfo": {"publicAccess": {"type": "DISABLED"}},
        **disk,
        **asked["brokerNodeGroupInfo"],
    }


def _encryption(asked: Json, region: str) -> Json:
    key = {"dataVolumeKMSKeyId": f"arn:aws:kms:{region}:{ACCOUNT}:key/aws-kafka"}
    in_transit = {"clientBroker": "TLS", "inCluster": True}
    return {
        "encryptionAtRest": asked.get("encryptionAtRest") or key,
        "encryptionInTransit": {**in_transit, **asked.get("encryptionInTransit", {})},
    }


def _configuration(info: Json) -> Json:
    return {"configurationArn": info["arn"], "configurationRevision": info["revision"]}


def _no_open_monitoring() -> Json:
    off = {"enabledInBroker": False}
    return {"prometheus": {"jmxExporter": dict(off), "nodeExporter": dict(off)}}
