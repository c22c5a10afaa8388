"""Which ends of a query pass by themselves, and which need a person."""

from __future__ import annotations

import pytest

from millrace.ingest.core.ingest_faults import FaultVerdict as Verdict
from millrace.ingest.core.ingest_faults import judge

_KAFKA = "org.apache.kafka.common.errors"
_SECRETS = "software.amazon.awssdk.services.secretsmanager.model"
_STREAM = "[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: "


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (f"java.util.concurrent.ExecutionException: {_KAFKA}.TimeoutException: x",
         Verdict.UNREACHABLE),
        (f"{_KAFKA}.TimeoutException: Timed out waiting for a node assignment",
         Verdict.UNREACHABLE),
        (f"{_KAFKA}.DisconnectException: null", Verdict.UNREACHABLE),
        ("org.apache.kafka.common.config.ConfigException: No resolvable bootstrap urls",
         Verdict.UNREACHABLE),
        (f"{_KAFKA}.UnknownTopicOrPartitionException: no such", Verdict.RETRY),
        ("io.delta.exceptions.ConcurrentTransactionException: x", Verdict.RETRY),
        ("java.lang.IllegalStateException: /lake/t took batch 7 meanwhile", Verdict.RETRY),
        ("spark_jobs.engine.fence.FencedError: generation 3 took over from 2", Verdict.FENCED),
        (f"{_KAFKA}.TopicAuthorizationException: Not authorized", Verdict.HALT),
        (f"{_KAFKA}.GroupAuthorizationException: Not authorized", Verdict.HALT),
        (f"{_KAFKA}.SaslAuthenticationException: Authentication failed", Verdict.LOGIN),
        (f"{_KAFKA}.SslAuthenticationException: SSL handshake failed", Verdict.HALT),
        ("[KAFKA_DATA_LOSS.START_OFFSET_RESET] offset was changed from 5 to 9", Verdict.OFFSETS),
        (f"{_KAFKA}.OffsetOutOfRangeException: x", Verdict.OFFSETS),
        ("java.lang.IllegalStateException: Some data may have been lost because they are not"
         " available in Kafka any more; either the data was aged out", Verdict.OFFSETS),
        ("spark_jobs.ingest.site_topics.TopicChangedError: topics ['t']", Verdict.RETRY),
        ("spark_jobs.kafka.topic_ids.TopicAbsentError: site 's' has no topic 't'", Verdict.RETRY),
        (
            "millrace.kafka.io.client_errors.UnreachableError: site 's': no answer",
            Verdict.UNREACHABLE,
        ),
        ("RefusedError: site 's': wrong password for user 'u', or no such user", Verdict.LOGIN),
        ("RefusedError: site 's': user 'u' has no right to use topic 't'; provision", Verdict.HALT),
        ("RefusedError: site 's': TLS failed: handshake", Verdict.HALT),
        ("MillraceError: /k/ingest.properties: No such file or directory; run", Verdict.HALT),
        ("Could not read properties from file /x/ingest.properties", Verdict.HALT),
        ("java.io.IOException: No space left on device", Verdict.END),
        ("StoreRefusedError: the object store of x refuses the key", Verdict.END),
        (f"{_SECRETS}.ResourceNotFoundException: no (Service: SecretsManager, Status Code: 400)",
         Verdict.HALT),
        (f"{_SECRETS}.SecretsManagerException: x (Service: SecretsManager, Status Code: 503)",
         Verdict.RETRY),
        ("software.amazon.awssdk.core.exception.SdkClientException: Unable to execute",
         Verdict.RETRY),
        ("ConfigException: secret arn:x holds no JSON with username and password",
         Verdict.HALT),
        ("java.lang.ArithmeticException: long overflow\n\tat java.base/java.lang.Math\n"
         "\tat org.apache.spark.sql.kafka010.KafkaRecordToRowConverter.$anonfun$x", Verdict.TIME),
        ("java.lang.ArithmeticException: long overflow", Verdict.HALT),
        ("", Verdict.HALT),
    ],
)  # fmt: skip
def test_the_cause_decides(error: str, verdict: Verdict) -> None:
    assert judge(f"{error}\n\tat org.apache.spark.Some.method(Some.scala:1)").verdict is verdict


def test_a_cause_outranks_the_wrapper_it_comes_in() -> None:
    error = (
        f"{_KAFKA}.TimeoutException: Call(callName=describeTopics) timed out\n"
        f"Caused by: {_KAFKA}.SaslAuthenticationException: Authentication failed"
    )
    assert judge(error).verdict is Verdict.LOGIN


def test_lost_offsets_are_named() -> None:
    line = "[KAFKA_DATA_LOSS.START_OFFSET_RESET] readings-0's offset was changed from 5 to 9"
    assert "readings-0's offset was changed from 5 to 9" in judge(f"{_STREAM}\n{line}\n").reason
