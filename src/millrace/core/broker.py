"""A local broker's settings: one node that is broker and controller; nothing in plain text."""

from __future__ import annotations

from millrace.core.layout import Layout
from millrace.core.site import SiteSpec

NODE_ID = 1


def broker_name(site: SiteSpec) -> str:
    """The common name in the broker's certificate, and so its principal."""
    return f"{site.name}-broker"


def admin_name(site: SiteSpec) -> str:
    """The common name of the administrator of this site, and of no other."""
    return f"{site.name}-admin"


def broker_settings(site: SiteSpec, layout: Layout) -> dict[str, object]:
    """What stands in server.properties."""
    return {
        "node.id": NODE_ID,
        "process.roles": "broker,controller",
        "log.dirs": layout.broker(site.name) / "data",
        **_listeners(site),
        **_protection(site, layout),
        **_DURABILITY,
        **_RECOVERY,
        **_SIZE,
    }


def _listeners(site: SiteSpec) -> dict[str, object]:
    host = site.bootstrap.split(",")[0].rpartition(":")[0]
    ports = {"CLIENT": site.port, "LOCAL": site.admin_port, "CONTROLLER": site.controller_port}
    addresses = {name: f"{name}://{host}:{port}" for name, port in ports.items()}
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(addresses.values()),
        "listener.security.protocol.map": "CLIENT:SASL_SSL,LOCAL:SSL,CONTROLLER:SSL",
        "inter.broker.listener.name": "LOCAL",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"{NODE_ID}@{host}:{site.controller_port}",
    }


def _protection(site: SiteSpec, layout: Layout) -> dict[str, object]:
    scram = "listener.name.client.scram-sha-512.sasl.jaas.config"
    owners = (broker_name(site), admin_name(site))
    return {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        # Users and their salted passwords live in the cluster's metadata, none of them here.
        scram: "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": layout.certificate(site.name, "broker"),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": layout.ca,
        "listener.name.local.ssl.client.auth": "required",
        "listener.name.controller.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+).*$/$1/,DEFAULT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": ";".join(f"User:{owner}" for owner in owners),
        "auto.create.topics.enable": "false",
    }


_DURABILITY: dict[str, object] = {
    # One node: an acknowledged message that only lies in the page cache dies with the power.
    "log.flush.interval.messages": 1,
    "unclean.leader.election.enable": "false",
    "default.replication.factor": 1,
    "min.insync.replicas": 1,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "share.coordinator.state.topic.replication.factor": 1,
    "share.coordinator.state.topic.min.isr": 1,
}
# A broker that was killed may not register again until its old session is over.
_RECOVERY: dict[str, object] = {
    "broker.session.timeout.ms": 5_000,
    "broker.heartbeat.interval.ms": 1_000,
}
# A site's broker is small: few threads, few internal partitions, a small cleaner buffer.
_SIZE: dict[str, object] = {
    "num.network.threads": 2,
    "num.io.threads": 2,
    "background.threads": 2,
    "num.recovery.threads.per.data.dir": 2,
    "offsets.topic.num.partitions": 4,
    "transaction.state.log.num.partitions": 4,
    "share.coordinator.state.topic.num.partitions": 1,
    "log.cleaner.dedupe.buffer.size": 8 * 1024 * 1024,
    "group.initial.rebalance.delay.ms": 0,
    "metadata.max.idle.interval.ms": 10_000,
}
