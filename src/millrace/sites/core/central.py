"""The cluster to which all sites' topics are relayed, where jobs read instead of at each site."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, field_validator

from millrace.base.model import Frozen
from millrace.base.names import check_topic_pattern
from millrace.sites.core.spec import check_bootstrap

TOPICS = "{site}.{topic}"
# A user's name and password: a secret of AWS's Secrets Manager.
SecretArn = Annotated[
    str, Field(pattern=r"^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:\S+$")
]


class Central(Frozen):
    """`central` in `infra/local.yaml`; its brokers' certificates are of a public authority."""

    bootstrap: Annotated[str, AfterValidator(check_bootstrap)]
    # What relays call a site's topic there.
    topics: Annotated[str, AfterValidator(check_topic_pattern)] = TOPICS
    # The login of jobs.
    secret: SecretArn
    # Where administrators show a role; none: topics and rights there are somebody else's to make.
    admin: Annotated[str, AfterValidator(check_bootstrap)] | None = None

    @field_validator("topics")
    @classmethod
    def _tell_apart(cls, text: str) -> str:
        missing = [word for word in ("{site}", "{topic}") if word not in text]
        if missing:
            raise ValueError(f"{text!r} lacks {' and '.join(missing)}; write '{{site}}.{{topic}}'")
        return text

    def topic(self, site: str, topic: str) -> str:
        return self.topics.format(site=site, topic=topic)

    @property
    def region(self) -> str:
        return self.secret.split(":")[3]
