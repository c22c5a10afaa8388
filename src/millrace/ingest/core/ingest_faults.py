"""Why a query of the ingest job ended, and whether trying again can help."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from millrace.ingest.core.far_times import WAY_OUT


class FaultVerdict(StrEnum):
    UNREACHABLE = "unreachable"  # the site does not answer; it may come back
    RETRY = "retry"  # the site answers; the same once more can succeed
    FENCED = "fenced"  # a newer generation of the job took over
    OFFSETS = "offsets"  # what was to be read is not there; a topic may have been made anew
    TIME = "time"  # Spark's own reader cannot convert the time of a record, which is to be named
    LOGIN = "login"  # the site refuses the password; another may be on file by now
    HALT = "halt"  # only a person can put it right, at this site
    END = "end"  # only a person can put it right, and no site can go on without


@dataclass(frozen=True)
class Fault:
    verdict: FaultVerdict
    reason: str


@dataclass(frozen=True)
class _Rule:
    signs: str
    verdict: FaultVerdict
    reason: str


# The first that fits decides: a cause stands before the wrappers it comes in.
_RULES = (
    _Rule(r"FencedError", FaultVerdict.FENCED, "a newer generation took over"),
    _Rule(
        r"TopicChangedError",
        FaultVerdict.RETRY,
        "a topic was made anew while it was read, and nothing of that batch was kept;"
        " going on with the new one",
    ),
    _Rule(
        r"KAFKA_DATA_LOSS|OffsetOutOfRangeException|LogTruncationException"
        r"|Some data may have been lost because they are not available in Kafka any more",
        FaultVerdict.OFFSETS,
        "the broker no longer has offsets that are not in the table yet; nothing was skipped."
        " Restore the topic, or remove the site's checkpoint to go on from what is left",
    ),
    _Rule(
        r"long overflow(?=[\s\S]*KafkaRecordToRowConverter)",
        FaultVerdict.TIME,
        f"Spark's own reader cannot convert the time of a record; nothing was skipped. {WAY_OUT}",
    ),
    _Rule(
        r"Could not read properties from file|Could not find a 'KafkaClient' entry"
        r"|\.properties: (No such file|Permission denied)",
        FaultVerdict.HALT,
        "the file with the user's secret is missing or unreadable; run 'millrace up' to make it",
    ),
    _Rule(
        r"secretsmanager\.model\.InternalService|Service: SecretsManager, Status Code: (5\d\d|429)",
        FaultVerdict.RETRY,
        "AWS's Secrets Manager does not answer",
    ),
    _Rule(
        r"services\.secretsmanager\.model\.\w+Exception|holds no JSON with username and password",
        FaultVerdict.HALT,
        "the login cannot be read from its secret; the job's role has to be allowed"
        " secretsmanager:GetSecretValue of it and kms:Decrypt of its key",
    ),
    _Rule(
        r"SaslAuthenticationException|RefusedError: .*wrong password",
        FaultVerdict.LOGIN,
        "the broker refuses user and password; the secret file and the broker's user differ",
    ),
    _Rule(
        r"SslAuthenticationException|SSLHandshakeException|InvalidPathException"
        r"|Failed to load PEM SSL keystore|Failed to load SSL|RefusedError: .*(TLS|certificate)",
        FaultVerdict.HALT,
        "TLS failed: the CA file does not fit the broker's certificate, or is unreadable",
    ),
    _Rule(
        r"(Topic|Group|Cluster)AuthorizationException|RefusedError: .*has no right to use",
        FaultVerdict.HALT,
        "the broker's ACLs do not let the user read; run the pipeline's provision task",
    ),
    _Rule(
        r"UnsupportedVersionException",
        FaultVerdict.HALT,
        "the broker is too old for this client",
    ),
    _Rule(
        r"No space left on device|Disk quota exceeded|File too large",
        FaultVerdict.END,
        "there is no room left on the disk; make some, and the job goes on where it was",
    ),
    _Rule(
        r"Concurrent(Transaction|Append|Write)Exception|DELTA_CONCURRENT|took batch \d+ meanwhile",
        FaultVerdict.RETRY,
        "another writer's commit came first",
    ),
    _Rule(
        r"UnknownTopicOrPartitionException|UNKNOWN_TOPIC_OR_PARTITION|TopicAbsentError",
        FaultVerdict.RETRY,
        "the topic is not there yet",
    ),
    _Rule(
        r"StoreRefusedError|InvalidAccessKeyId|SignatureDoesNotMatch|UnknownStoreException"
        r"|java\.nio\.file\.AccessDeniedException: s3a:",
        FaultVerdict.END,
        "the object store refuses the key, or has no such bucket",
    ),
    _Rule(
        r"StoreUnreachableError|StoreConflictError|AWSClientIOException|AWSServiceIOException"
        r"|AWSStatus5\d\dException|AWSServiceThrottledException|AWSNoResponseException"
        r"|awssdk\.core\.exception\.(SdkClient|ApiCall\w*Timeout)Exception",
        FaultVerdict.RETRY,
        "the object store, or another service of AWS, does not answer",
    ),
    _Rule(
        r"No resolvable bootstrap urls",
        FaultVerdict.UNREACHABLE,
        "the broker's host name is not known",
    ),
    _Rule(
        r"org\.apache\.kafka\.common\.errors\.(Timeout|Disconnect|Network|BrokerNotAvailable"
        r"|LeaderNotAvailable|NotLeaderOrFollower|CoordinatorNotAvailable)Exception"
        r"|java\.net\.ConnectException|Timed out waiting for a node assignment"
        r"|FETCH_OFFSET_TIMEOUT|Timeout of \d+ms expired|UnreachableError: site",
        FaultVerdict.UNREACHABLE,
        "the broker does not answer",
    ),
)


def judge(error: str) -> Fault:
    """Read the whole text of an error, causes included."""
    for rule in _RULES:
        found = re.search(rule.signs, error)
        if found:
            return Fault(rule.verdict, f"{rule.reason} ({_line_around(error, found.start())})")
    return Fault(FaultVerdict.HALT, _first_line(error))


def _line_around(error: str, position: int) -> str:
    begin = error.rfind("\n", 0, position) + 1
    end = error.find("\n", position)
    return _shorten(error[begin : end if end >= 0 else len(error)])


def _first_line(error: str) -> str:
    return _shorten(next((line for line in error.splitlines() if line.strip()), "unknown error"))


def _shorten(line: str, length: int = 500) -> str:
    text = line.strip().removeprefix("Caused by: ")
    return text if len(text) <= length else f"{text[:length]}..."
