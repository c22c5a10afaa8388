"""Where jobs read what relays brought: names, logins and rights, said for each client."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
from moto import mock_aws
from pydantic import ValidationError

from millrace.base.errors import MillraceError, TransientError
from millrace.ingest.core.ingest_plan import plan_ingest
from millrace.pipelines.core.effects import effects_of
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.provisioning.core.site_rights import Operation, Resource
from millrace.provisioning.io.central_admin import role_settings
from millrace.relay.core.central_rights import wanted_at_central
from millrace.secrets.io.aws_secrets import read_secret
from millrace.sites.core.central import Central
from millrace.sites.core.spec import SiteSpec

SECRET = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:AmazonMSK_x_ingest-AbCdEf"
CENTRAL = Central(bootstrap="b-1.example:9096", secret=SECRET, admin="b-1.example:9098")
SITE = SiteSpec(name="plant-a", bootstrap="127.0.0.1:19092", client={"java.max.poll.records": 5})
PIPELINE = PipelineSpec(
    name="heat", sites="all", topics=("heat", "cold"), format="json", table="heat", partitions=4
)
LAYOUT = Platform(Path("/home"), central=CENTRAL)


def test_a_job_reads_a_sites_topics_by_their_central_names() -> None:
    planned = plan_ingest(PIPELINE, [SITE], LAYOUT).inputs[0]
    assert (planned.site, planned.topics) == ("plant-a", ("plant-a.heat", "plant-a.cold"))
    for settings in (planned.kafka, planned.librdkafka):
        assert settings["bootstrap.servers"] == CENTRAL.bootstrap
        assert settings["security.protocol"] == "SASL_SSL"


def test_a_job_is_told_where_its_login_is_and_not_what() -> None:
    planned = plan_ingest(PIPELINE, [SITE], LAYOUT).inputs[0]
    path = planned.kafka["sasl.jaas.config"].removeprefix("${aws:").removesuffix(":jaas}")
    assert ":" not in path
    assert path.replace("|", ":") == planned.secret == SECRET
    assert not {"sasl.username", "sasl.password"} & set(planned.librdkafka)


def test_without_a_central_cluster_a_job_reads_at_the_site() -> None:
    planned = plan_ingest(PIPELINE, [SITE], Platform(Path("/home"))).inputs[0]
    assert (planned.topics, planned.secret) == (("heat", "cold"), None)
    assert planned.kafka["bootstrap.servers"] == SITE.bootstrap


def test_another_central_cluster_is_another_job() -> None:
    moved = Platform(
        Path("/home"), central=CENTRAL.model_copy(update={"bootstrap": "b-2.example:1"})
    )
    prints = {plan_ingest(PIPELINE, [SITE], one).fingerprint for one in (LAYOUT, moved)}
    assert len(prints) == 2


def test_check_names_the_topics_that_will_be_read() -> None:
    assert effects_of(PIPELINE, [SITE], LAYOUT).topics == (
        "plant-a.heat@central (4 partitions)",
        "plant-a.cold@central (4 partitions)",
    )


def test_only_a_site_writes_its_topics_and_only_jobs_and_operators_read_them() -> None:
    wanted = wanted_at_central(CENTRAL, SITE, [PIPELINE])
    assert [(one.name, one.partitions) for one in wanted.topics] == [
        ("plant-a.cold", 4),
        ("plant-a.heat", 4),
        ("relay-offsets-plant-a", 1),
    ]
    on_topics = [acl for acl in wanted.acls if acl.name in ("plant-a.cold", "plant-a.heat")]
    assert {acl.resource for acl in on_topics} == {Resource.TOPIC}
    writers = {acl.user for acl in on_topics if acl.operation == Operation.WRITE}
    readers = {acl.user for acl in on_topics if acl.operation == Operation.READ}
    assert (writers, readers, wanted.users) == ({"plant-a"}, {"ingest", "app"}, ())


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"topics": "{topic}"}, "lacks {site}"),
        ({"topics": "{site} {topic}"}, "such as"),
        ({"secret": "ingest"}, "pattern"),
        ({"bootstrap": "b-1.example"}, "host:port"),
    ],
)
def test_a_wrong_value_is_refused(wrong: dict[str, str], said: str) -> None:
    right = {"bootstrap": "b-1.example:9096", "secret": SECRET}
    with pytest.raises(ValidationError, match=said):
        Central.model_validate(right | wrong)


@pytest.fixture
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.mark.usefixtures("_keys")
def test_an_administrator_shows_a_role_by_a_signed_request() -> None:
    token, expires_s = role_settings("b-1.example:9098", "eu-central-1")["oauth_cb"]("")
    url = urlsplit(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)).decode())
    said = {key: value[0] for key, value in parse_qs(url.query).items()}
    assert url.netloc == "kafka.eu-central-1.amazonaws.com"
    assert said["Action"] == "kafka-cluster:Connect"
    assert said["X-Amz-Credential"].startswith("AKIDEXAMPLE/")
    assert expires_s > 0


@pytest.mark.usefixtures("_keys")
@mock_aws
def test_a_login_is_read_from_its_secret() -> None:
    arn = _secret(json.dumps({"username": "ingest", "password": "pw"}))
    assert read_secret(arn) == {"username": "ingest", "password": "pw"}


@pytest.mark.usefixtures("_keys")
@mock_aws
@pytest.mark.parametrize("text", ["pw-of-ingest", '{"password": "pw-of-ingest"}', "[]"])
def test_a_secret_of_another_form_is_named_and_not_shown(text: str) -> None:
    arn = _secret(text)
    with pytest.raises(MillraceError, match="holds no JSON with username and password") as caught:
        read_secret(arn)
    assert "pw-of-ingest" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.usefixtures("_keys")
@mock_aws
def test_a_secret_that_is_not_there_names_the_right_that_is_needed() -> None:
    with pytest.raises(MillraceError, match="secretsmanager:GetSecretValue"):
        read_secret(SECRET)


def test_a_keeper_of_secrets_that_is_away_may_be_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    with pytest.raises(TransientError):
        read_secret(SECRET.replace("eu-central-1", "eu-north-1"))


def _secret(text: str) -> str:
    client = boto3.client("secretsmanager", region_name="eu-central-1")
    return str(client.create_secret(Name="AmazonMSK_x_ingest", SecretString=text)["ARN"])
