"""How a gateway does: what its page, its metrics and its health say."""

from __future__ import annotations

from pydantic import computed_field

from millrace.base.model import Frozen

_NAMES_TOLD = 5
_AT_ONCE = "two devices use one name at once"
_CONTESTED = {
    "mqtt": "messages are discarded: two publishers use one millrace-origin, or count anew"
}


class InputState(Frozen):
    name: str
    kind: str
    listen: str
    taken: int
    kept: int
    delivered: int
    refused: int
    malformed: int
    # Safe already when they came.
    known: int
    # How often two devices used one name at once, and which names these were lately.
    name_conflicts: int
    contested: tuple[str, ...] = ()
    connections_refused: int
    connections_cut: int
    samples_passed_over: int
    dropped: int
    dead_letters: int
    # Dead letters that an operator has asked for, and that are on their way.
    resending: int
    damaged_bytes: int
    # Devices, publishers and keys of requests that there was no room to remember.
    origins_forgotten: int = 0
    # Of messages at the broker that a look back has met and had no room for.
    names_forgotten: int = 0
    # Messages that were safe and are not in the spool: an older state of it was put back.
    missing: int = 0
    connections: int
    waiting: int
    spool_bytes: int
    spool_limit_bytes: int
    oldest_age_s: float | None
    taken_per_s: float
    delivered_per_s: float
    # Why nothing is taken; empty: it is.
    obstacle: str = ""
    # Why nothing of it is delivered, whatever the broker takes; empty: it is.
    held_up: str = ""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def drain_s(self) -> float | None:
        """When all that waits is delivered, as things go; None: never, as things go."""
        if self.waiting == 0:
            return 0.0
        gain = self.delivered_per_s - self.taken_per_s
        return self.waiting / gain if gain > 0 else None


class CommandsState(Frozen):
    # Without an outcome.
    open: int
    # Why none comes; empty: they may.
    obstacle: str


class GatewayState(Frozen):
    site: str
    inputs: tuple[InputState, ...]
    # How often the machine's clock was set, since the last message before the start at most.
    clock_was_set: int = 0
    # None: none of its inputs has any.
    commands: CommandsState | None = None
    # Why nothing is delivered; empty: it is.
    obstacle: str
    # Ways without TLS that were asked for.
    risks: tuple[str, ...] = ()
    # Topics that take nothing, and why.
    refusals: dict[str, str]
    # Messages that were read at the broker, in search of what is delivered already.
    read_back: int = 0
    # How often a topic was deleted and made anew, or came back in an older state.
    topics_made_anew: int = 0
    topics_gone_back: int = 0
    # Events that were not posted to a rule's webhook; their topic has them.
    posts_failed: int = 0

    @property
    def alarms(self) -> list[str]:
        found = [f"broker: {self.obstacle}"] if self.obstacle else []
        found += [f"topic {topic}: {reason}" for topic, reason in sorted(self.refusals.items())]
        if self.commands and self.commands.obstacle:
            found.append(f"commands: {self.commands.obstacle}")
        for count, what in (
            (self.topics_made_anew, "made anew: what was in the old one and not read is gone"),
            (self.topics_gone_back, "back in an older state: what it had delivered since is gone"),
        ):
            if count:
                found.append(f"{count:,} times a topic was {what}")
        for one in self.inputs:
            found += [f"{one.name}: {why}" for why in (one.obstacle, one.held_up) if why]
            if one.contested:
                names = ", ".join(one.contested[-_NAMES_TOLD:])
                found.append(f"{one.name}: {_CONTESTED.get(one.kind, _AT_ONCE)}: {names}")
            for count, what in (
                (one.samples_passed_over, "samples that no rule had room for"),
                (one.dead_letters, "dead letters"),
                (one.dropped, "messages dropped for want of room"),
                (one.damaged_bytes, "bytes of the spool damaged"),
                (one.missing, "messages missing: an older state of the spool was put back"),
            ):
                if count:
                    found.append(f"{one.name}: {count:,} {what}")
        return found
