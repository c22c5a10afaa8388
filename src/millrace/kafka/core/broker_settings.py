"""A local broker's settings; the first are controllers too. Nothing talks in plain text."""

from __future__ import annotations

from millrace.settings.core.paths import Paths
from millrace.sites.core.spec import SiteSpec

FIRST = 1
# Ports that each broker takes: for clients, for administrators and brokers, for controllers.
_PORTS = 3
_CONTROLLERS = 3
_COPIES = 3


def nodes(site: SiteSpec) -> range:
    """The numbers of the brokers that this machine runs for a site or cluster."""
    return range(FIRST, FIRST + site.brokers)


def node_name(site: SiteSpec, node: int) -> str:
    """The first has the name of all, so that more may join it later."""
    return site.name if node == FIRST else f"{site.name}-{node}"


def node_ports(site: SiteSpec, node: int) -> tuple[int, int, int]:
    first = site.port + _PORTS * (node - FIRST)
    return first, first + 1, first + 2


def controllers(site: SiteSpec) -> range:
    """One, or three, which keep working when one is gone; never two, which would not."""
    return range(FIRST, FIRST + (_CONTROLLERS if site.brokers >= _CONTROLLERS else 1))


def quorum(site: SiteSpec) -> str:
    voters = (
        f"{node}@{node_host(site, node)}:{node_ports(site, node)[2]}" for node in controllers(site)
    )
    return ",".join(voters)


def broker_name(site: SiteSpec) -> str:
    """The common name in the broker's certificate, and so its principal."""
    return f"{site.name}-broker"


def admin_name(site: SiteSpec) -> str:
    """The common name of the administrator of this site, and of no other."""
    return f"{site.name}-admin"


def broker_settings(site: SiteSpec, layout: Paths, node: int = FIRST) -> dict[str, object]:
    """What stands in server.properties."""
    return {
        "node.id": node,
        "process.roles": "broker,controller" if node in controllers(site) else "broker",
        "log.dirs": layout.broker(node_name(site, node)) / "data",
        **_listeners(site, node, layout.listen),
        **_protection(site, layout, node),
        **_durability(site),
        **_RECOVERY,
        **_SIZE,
    }


def _listeners(site: SiteSpec, node: int, listen: str) -> dict[str, object]:
    host = node_host(site, node)
    ports = dict(zip(("CLIENT", "LOCAL", "CONTROLLER"), node_ports(site, node), strict=True))
    if node not in controllers(site):
        del ports["CONTROLLER"]
    addresses = {name: f"{name}://{host}:{port}" for name, port in ports.items()}
    return {
        "listeners": ",".join(f"{name}://{listen}:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(addresses.values()),
        "listener.security.protocol.map": "CLIENT:SASL_SSL,LOCAL:SSL,CONTROLLER:SSL",
        "inter.broker.listener.name": "LOCAL",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": quorum(site),
    }


def node_host(site: SiteSpec, node: int) -> str:
    """As its place in `bootstrap` says; those that are not listed there stand beside the first."""
    hosts = [server.strip().rpartition(":")[0] for server in site.bootstrap.split(",")]
    return hosts[node - FIRST] if node - FIRST < len(hosts) else hosts[0]


def _protection(site: SiteSpec, layout: Paths, node: int) -> dict[str, object]:
    scram = "listener.name.client.scram-sha-512.sasl.jaas.config"
    owners = (broker_name(site), admin_name(site))
    return {
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        # Users and their salted passwords live in the cluster's metadata, none of them here.
        scram: "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": layout.broker_certificate(node_name(site, node)),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": layout.ca,
        "listener.name.local.ssl.client.auth": "required",
        "listener.name.controller.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": _WHOLE_NAME,
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "allow.everyone.if.no.acl.found": "false",
        "super.users": ";".join(f"User:{owner}" for owner in owners),
        "auto.create.topics.enable": "false",
    }


# A certificate whose name is of more parts is nobody known: it keeps the whole of it.
_WHOLE_NAME = "RULE:^CN=([a-z0-9-]+)$/$1/,DEFAULT"


def _durability(site: SiteSpec) -> dict[str, object]:
    """Of three copies one may be missing; one alone has to be on disk before it counts."""
    copies = min(_COPIES, site.brokers or 1)
    in_sync = copies - 1 if copies == _COPIES else 1
    alone = {"log.flush.interval.messages": 1} if copies == 1 else {}
    return {
        **alone,
        "unclean.leader.election.enable": "false",
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
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
