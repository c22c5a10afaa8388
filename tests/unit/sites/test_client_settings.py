"""A site's file tunes its Kafka clients; nothing that weakens or redirects them passes."""

from __future__ import annotations

import ctypes
from importlib.metadata import files
from pathlib import Path

import pytest

from millrace.base.errors import SpecErrors
from millrace.kafka.core.kafka_client import as_properties, librdkafka_settings
from millrace.pipelines.io.loader import load_sites
from millrace.platform.core.platform import Platform
from millrace.relay.io.relay_files import load_clusters
from millrace.site_changes.core.site_change import Present, plan_site_change
from millrace.site_changes.core.site_request import SiteAction, SiteRequest, SiteRequestError
from millrace.sites.core.client_settings import JAVA, LIBRDKAFKA, check_client_settings, problem_of
from millrace.sites.core.spec import SiteSpec

# What each would do to whoever reads the site's file with the rights of a gateway, job or relay.
DANGEROUS = {
    "loads code": {
        "plugin.library.paths": "/evil.so",
        "interceptors": "x",
        "ssl.engine.location": "/evil.so",
        "ssl.providers": "evil",
        "sasl.kerberos.kinit.cmd": "sh -c evil",
        "java.interceptor.classes": "evil.Interceptor",
        "java.partitioner.class": "evil.Partitioner",
        "java.metric.reporters": "evil.Reporter",
        "java.key.deserializer": "evil.Deserializer",
        "java.ssl.engine.factory.class": "evil.Factory",
        "java.security.providers": "evil.Provider",
        "java.sasl.jaas.config": "com.sun.security.auth.module.JndiLoginModule required;",
        "java.sasl.login.class": "evil.Login",
        "java.sasl.client.callback.handler.class": "evil.Handler",
        "java.config.providers": "evil",
        "java.config.providers.file.class": "evil.Provider",
    },
    "connects elsewhere": {
        "bootstrap.servers": "evil:9092",
        "metadata.broker.list": "evil:9092",
        "sasl.oauthbearer.token.endpoint.url": "https://evil",
        "java.sasl.oauthbearer.token.endpoint.url": "https://evil",
        "client.dns.lookup": "resolve_canonical_bootstrap_servers_only",
        "resolve_cb": "x",
    },
    "trusts others": {
        "security.protocol": "PLAINTEXT",
        "java.security.protocol": "SASL_PLAINTEXT",
        "enable.ssl.certificate.verification": False,
        "ssl.endpoint.identification.algorithm": "none",
        "java.ssl.endpoint.identification.algorithm": "none",
        "ssl.ca.location": "/ca.pem",
        "ssl.ca.pem": "x",
        "https.ca.location": "/ca.pem",
        "ssl.ca.certificate.stores": "x",
        "ssl.cipher.suites": "NULL",
        "java.ssl.truststore.location": "/ca.pem",
        "java.ssl.enabled.protocols": "TLSv1",
        "java.ssl.protocol": "TLSv1",
    },
    "is somebody else": {
        "sasl.username": "admin",
        "sasl.password": "hunter2",
        "sasl.mechanism": "PLAIN",
        "ssl.key.location": "/keys/admin.pem",
        "ssl.certificate.location": "/keys/admin.pem",
        "group.id": "another",
        "transactional.id": "another",
    },
    "shows secrets": {"debug": "security", "log_level": 7, "java.auto.include.jmx.reporter": True},
    "promises less": {
        "acks": 0,
        "request.required.acks": 0,
        "enable.idempotence": False,
        "isolation.level": "read_uncommitted",
        "auto.offset.reset": "latest",
        "enable.auto.commit": True,
        "enable.auto.offset.store": True,
        "check.crcs": False,
        "partitioner": "random",
        "max.in.flight": 100,
        "retries": 0,
        "allow.auto.create.topics": True,
    },
    "hides as another client's": {
        "java.librdkafka.plugin.library.paths": "/evil.so",
        "librdkafka.java.sasl.jaas.config": "evil",
        " security.protocol": "PLAINTEXT",
        "Security.Protocol": "PLAINTEXT",
        "socket.timeout.ms\nplugin.library.paths": "/evil.so",
    },
    "hides in a value": {
        "socket.timeout.ms": "1000\nplugin.library.paths=/evil.so",
        "client.id": "${file:/var/secrets/plant-a/app.properties:password}",
        "java.client.id": "a\rb",
    },
}
CASES = [(why, key, value) for why, cases in DANGEROUS.items() for key, value in cases.items()]


@pytest.mark.parametrize(("why", "key", "value"), CASES, ids=[repr(key) for _, key, _ in CASES])
def test_what_weakens_or_redirects_is_refused_for_every_client(why, key, value):
    prefixes = ("",) if key.startswith(("java.", "librdkafka.")) else ("", "java.", "librdkafka.")
    for prefix in prefixes:
        with pytest.raises(ValueError, match="client"):
            SiteSpec(name="plant-a", bootstrap="a:9093", client={prefix + key: value})


def every_property_of_librdkafka(folder: Path) -> set[str]:
    """As the library that is installed lists them itself."""
    library = next(file for file in files("confluent-kafka") or () if "librdkafka" in file.name)
    shown, libc = folder / "properties", ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    stream = ctypes.c_void_p(libc.fopen(str(shown).encode(), b"w"))
    ctypes.CDLL(str(library.locate())).rd_kafka_conf_properties_show(stream)
    libc.fclose(stream)
    cells = (line.partition("|")[0].strip() for line in shown.read_text().splitlines())
    return {cell for cell in cells if cell and " " not in cell and "--" not in cell}


def test_of_all_that_the_library_knows_the_list_alone_passes(tmp_path):
    every = every_property_of_librdkafka(tmp_path)
    assert len(every) > 150
    assert {name for name in every if not problem_of(name, 1)} == LIBRDKAFKA
    assert {name for name in every if not problem_of(f"java.{name}", 1)} <= JAVA


@pytest.mark.parametrize("known", [LIBRDKAFKA, JAVA], ids=["librdkafka", "java"])
def test_nothing_on_the_list_is_about_trust_or_code(known):
    words = (
        "ssl",
        "sasl",
        "security",
        "plugin",
        "class",
        "provider",
        "intercept",
        "server",
        "acks",
    )
    assert [name for name in known if any(word in name for word in words)] == []


def test_what_tunes_reaches_its_client():
    tuned = {"socket.keepalive.enable": True, "linger.ms": 5, "compression.type": "zstd"}
    site = SiteSpec(name="plant-a", bootstrap="a:9093", client=tuned)
    assert tuned.items() <= librdkafka_settings(site, Path("/ca"), "u", "p").items()


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("max.poll.record", ["did you mean 'max.poll.records'"]),
        ("buffer.memory", ["write java.buffer.memory"]),
        ("java.queued.min.messages", ["write librdkafka.queued.min.messages"]),
        ("ssl.ca.location", ["whom they connect to or trust", "leave it out"]),
    ],
)
def test_a_refusal_says_the_way_out(key, words):
    assert [word for word in words if word not in problem_of(key, 1)] == []


@pytest.mark.parametrize("folder", ["sites", "clusters"])
def test_a_file_of_a_site_or_cluster_says_line_key_and_value_of_each(tmp_path, folder):
    layout = Platform(tmp_path)
    (layout.dags / "sites").mkdir(parents=True)
    file = layout.dags / folder / "one.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(
        "name: one\nbootstrap: a:9093\nclient:\n  linger.ms: 5\n"
        "  plugin.library.paths: /evil.so\n  sasl.password: hunter2\n"
    )
    with pytest.raises(SpecErrors) as caught:
        (load_sites if folder == "sites" else load_clusters)(layout)
    told = [str(error) for error in caught.value.errors]
    assert [error.place.line for error in caught.value.errors] == [5, 6]
    assert "client.plugin.library.paths='/evil.so': a site's file may tune" in told[0]
    assert "hunter2" not in told[1]


@pytest.mark.parametrize(
    "said",
    [
        {"client": {"plugin.library.paths": "/evil.so"}},
        {"client": {"ssl.endpoint.identification.algorithm": "none"}},
        {"bootstrap": "a\nplugin.library.paths=/evil.so\nx:9093"},
        {"bootstrap": "a:9093,b\rc:9093"},
    ],
    ids=["code", "names", "a line in the address", "a return in the second address"],
)
@pytest.mark.parametrize("action", [SiteAction.ADD, SiteAction.CHANGE])
def test_the_form_refuses_it_too(action, said):
    there = SiteSpec(name="plant-a", bootstrap="old:9093")
    sites = () if action is SiteAction.ADD else (there,)
    wish = SiteRequest(action=action, site="plant-a", **{"bootstrap": "new:9093", **said})
    with pytest.raises(SiteRequestError, match=r"client|bootstrap"):
        plan_site_change(wish, Present(sites=sites))


def test_a_setting_that_an_older_file_holds_can_be_taken_away():
    there = SiteSpec.model_construct(
        name="plant-a",
        bootstrap="a:9093",
        description="",
        client={"debug": "all"},
        gateway_host="",
        local=None,
    )
    wish = SiteRequest(action=SiteAction.CHANGE, site="plant-a", client={"debug": ""})
    assert plan_site_change(wish, Present(sites=(there,))).site.client == {}


def test_a_line_of_settings_is_one_line():
    site = SiteSpec(name="plant-a", bootstrap="a:9093,[::1]:9094", client={"client.id": "x-1.y_z"})
    text = as_properties(librdkafka_settings(site, Path("/ca"), "u", "p"))
    assert len(text.splitlines()) == 7


def test_all_is_refused_at_once():
    with pytest.raises(ValueError, match="2 validation errors"):
        check_client_settings({"debug": "all", "acks": 0, "linger.ms": 5})
