"""What a person asks for of a site, and what of that cannot be meant."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, ValidationError

from millrace.base.errors import MillraceError
from millrace.base.model import Frozen
from millrace.sites.core.client_settings import may_be_secret
from millrace.sites.core.spec import ClientSettings, SiteSpec


class SiteAction(StrEnum):
    ADD = "add"
    CHANGE = "change"
    RETIRE = "retire"
    ROTATE = "rotate"


class SiteRequest(Frozen):
    """What a person asks for; what is not said stays as it is."""

    action: SiteAction
    site: str
    bootstrap: str | None = None
    description: str | None = None
    # A setting with an empty value is taken away.
    client: ClientSettings = Field(default_factory=dict)
    local: bool = False
    users: tuple[str, ...] = ()
    # The site's name once more, by the person who retires it.
    typed: str = ""
    keep_users: bool = False
    dry_run: bool = False


class SiteRequestError(MillraceError):
    """A request that cannot be granted, and the way out."""


_MEANT_FOR = {
    "bootstrap": (SiteAction.ADD, SiteAction.CHANGE),
    "description": (SiteAction.ADD, SiteAction.CHANGE),
    "client": (SiteAction.ADD, SiteAction.CHANGE),
    "local": (SiteAction.ADD,),
    "users": (SiteAction.ROTATE,),
    "typed": (SiteAction.RETIRE,),
    "keep_users": (SiteAction.RETIRE,),
}


def refuse_misplaced(request: SiteRequest) -> None:
    """A field that this action does not look at was meant for something else, or somewhere else."""
    for key in request.client:
        if may_be_secret(key):
            raise SiteRequestError(
                f"client.{key} may hold a secret, and a site's file, its plan and its history are"
                " read by many; keep it where the client runs"
            )
    for name, actions in _MEANT_FOR.items():
        if getattr(request, name) and request.action not in actions:
            meant = " and ".join(actions)
            raise SiteRequestError(
                f"{name} is for {meant}, and the action is {request.action}; leave it empty, or"
                " take another action"
            )


def merge_client(client: ClientSettings, wished: ClientSettings) -> ClientSettings:
    return {key: value for key, value in {**client, **wished}.items() if value != ""}


def make_site(**values: object) -> SiteSpec:
    try:
        return SiteSpec.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        problem = first["msg"].removeprefix("Value error, ")
        if first["type"] == "string_pattern_mismatch":
            problem = "write small letters, digits and '-', a letter first"
        raise SiteRequestError(f"{field}={first['input']!r}: {problem}") from error
