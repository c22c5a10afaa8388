"""A relay: selected topics of sites, brought to another cluster as they are."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, ConfigDict, Field, model_validator

from millrace.base.model import Frozen
from millrace.base.names import Name, TopicName, check_topic_pattern, refuse_dots

# A coordinator that keeps three copies is busy with a commit for as long as three small
# transactions take.
_TURNS = 4


class RelaySpec(Frozen):
    """What stands in `dags/relays/<name>.yaml`."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    name: Name
    sites: Annotated[tuple[Name, ...], Field(min_length=1)] | Literal["all"]
    topics: Annotated[tuple[TopicName, ...], Field(min_length=1)]
    to: Name
    # What a site's topic is called there.
    pattern: Annotated[str, AfterValidator(check_topic_pattern), Field(alias="as")] = (
        "{site}.{topic}"
    )

    @model_validator(mode="after")
    def _check_names(self) -> RelaySpec:
        """Two topics in one would mix their partitions, and with them their order."""
        if self.sites == "all" or len(self.sites) > 1:
            self._need("site", "several sites")
        if len(self.topics) > 1:
            self._need("topic", "several topics")
        refuse_dots(self.pattern)
        return self

    def _need(self, word: str, why: str) -> None:
        if f"{{{word}}}" not in self.pattern:
            raise ValueError(f"as: {self.pattern!r} lacks {{{word}}}, and there are {why}")

    def reads(self, site: str) -> bool:
        return self.sites == "all" or site in self.sites

    def target(self, site: str, topic: str) -> str:
        return self.pattern.format(site=site, topic=topic)

    @property
    def positions_topic(self) -> str:
        """Holds how far each partition is brought. One a relay: nobody else's transactions, open
        while a relay starts, may hide its own last words."""
        return f"relay-offsets-{self.name}"

    @property
    def transactional_ids(self) -> tuple[str, ...]:
        """They take turns; whoever starts takes all of them."""
        return tuple(f"relay-{self.name}-{turn}" for turn in range(_TURNS))
