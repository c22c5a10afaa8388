"""Our users at a site: a new password for one, and what goes when the site is retired."""

from __future__ import annotations

from typing import Literal

from millrace.base.model import Frozen
from millrace.provisioning.core.site_rights import Actual, DeleteAcl
from millrace.sites.core.user_names import SITE_USERS


class SetPassword(Frozen):
    kind: Literal["set password"] = "set password"
    user: str

    def __str__(self) -> str:
        return f"user {self.user}: gets a new password"


class DeleteUser(Frozen):
    kind: Literal["delete user"] = "delete user"
    user: str

    def __str__(self) -> str:
        return f"user {self.user}: taken away"


UserChange = SetPassword | DeleteUser | DeleteAcl


def plan_removal(actual: Actual) -> tuple[UserChange, ...]:
    """Our users first, so that nobody logs in anew; then their rights, which ends who is in."""
    users = [DeleteUser(user=user) for user in SITE_USERS if user in actual.users]
    ours = sorted((acl for acl in actual.acls if acl.user in SITE_USERS), key=str)
    return (*users, *(DeleteAcl(acl=acl) for acl in ours))
