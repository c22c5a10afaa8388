"""What Terraform's output means, in few lines: a plan, a lock that is held, an error."""

from __future__ import annotations

import re
from pathlib import Path

from millrace.base.model import Frozen

_SHOWN_CHANGES, _SHOWN_ERROR_LINES = 60, 20

# What is lost comes first: it is what a person has to see. Replacing is losing, too.
_VERBS = {
    "destroy": r"will be destroyed",
    "replace": r"must be replaced|will be replaced\b.*|is tainted, so must be replaced",
    "forget": r"will no longer be managed by Terraform.*",
    "change": r"will be updated in-place",
    "add": r"will be created",
}
_CHANGE = {
    verb: re.compile(rf"^  # (.+?) (?:{words})$", re.MULTILINE) for verb, words in _VERBS.items()
}
_COUNTS = re.compile(r"^Plan: (.+)\.$", re.MULTILINE)
_LOCK_REFUSED = "Error acquiring the state lock"
_LOCK_FIELD = re.compile(r"^\s*(ID|Operation|Who|Created):\s+(\S.*?)\s*$", re.MULTILINE)
_FRAME = re.compile(r"^[│╷╵]\s?", re.MULTILINE)

_CAUSES = {
    "No valid credential sources found|ExpiredToken|security token included in the request is": (
        "there are no AWS credentials, or none that are valid. Give them to the account that runs"
        " Airflow: ~/.aws/credentials, or a role of its machine"
    ),
    "is required by the backend": (
        "it is not said where the state is: write terraform/environments/backend.hcl, as"
        " terraform/README.md says under 'Bring it up'"
    ),
    r"no file exists at \S*var/release": (
        "there is no release for Terraform to take: 'make release' packs it"
    ),
    "Saved plan is stale": (
        "the state has changed since the plan was made, so nothing was applied; trigger it again"
        " and look at the new plan"
    ),
}


class Ended(Frozen):
    """How Terraform ended. No code: its machine or its process went before it was written down."""

    code: int | None
    asked_to_stop: bool = False


def summarise(environment: str, text: str, log: Path) -> list[str]:
    """A plan for a person to judge: what goes is named first, and the rest is said to be there."""
    changes = [
        f"{verb}: {address}" for verb, words in _CHANGE.items() for address in words.findall(text)
    ]
    counts = _COUNTS.search(text)
    lines = [
        f"{environment}: {counts[1] if counts else 'no resource changes; outputs do'}",
        *changes[:_SHOWN_CHANGES],
    ]
    if len(changes) > _SHOWN_CHANGES:
        lines.append(f"and {len(changes) - _SHOWN_CHANGES} more")
    return [*lines, f"the whole plan: the log of this run's task plan, and {log}"]


def explain(environment: str, ended: Ended, text: str, log: Path) -> str:
    """Why a step failed, the way out, and where all of it stands."""
    text = _FRAME.sub("", text)
    reason = _ending(environment, ended) or held_lock(environment, text) or _known_cause(text)
    return "\n".join([*([reason] if reason else []), *_errors(text), f"all of it: {log}"])


def held_lock(environment: str, text: str) -> str | None:
    """Who holds the lock, and since when; None where it was not the lock."""
    _, refused, info = text.partition(_LOCK_REFUSED)
    if not refused:
        return None
    lock = dict(_LOCK_FIELD.findall(info))
    who, since = lock.get("Who", "somebody unknown"), lock.get("Created", "an unknown time")
    return (
        f"the state of {environment!r} is locked by {who} since {since}"
        f" ({lock.get('Operation', 'unknown operation')}). Wait for its end and trigger this"
        " again. Only if you are sure that nobody is at work there any more:"
        f" 'terraform force-unlock {lock.get('ID', 'ID')}' in terraform/environments/{environment}"
    )


def _ending(environment: str, ended: Ended) -> str | None:
    if ended.asked_to_stop:
        return (
            "it was asked to stop: what had begun was finished and is in the state, the rest was"
            " not begun. Trigger it again for a plan of what is left"
        )
    if ended.code is None or ended.code < 0:
        how = "without a word" if ended.code is None else f"by signal {-ended.code}"
        return (
            f"Terraform's process ended {how} (was the machine restarted?): the state of"
            f" {environment!r} may be behind, and locked. Trigger it again: the plan says which"
        )
    return None


def _known_cause(text: str) -> str | None:
    """Terraform breaks its lines between any two words."""
    flat = " ".join(text.split())
    return next((told for words, told in _CAUSES.items() if re.search(words, flat)), None)


def _errors(text: str) -> list[str]:
    _, error, rest = text.partition("Error: ")
    lines = (error + rest).splitlines() if error else text.splitlines()[-_SHOWN_ERROR_LINES:]
    return [line.rstrip() for line in lines if line.strip()][:_SHOWN_ERROR_LINES]
