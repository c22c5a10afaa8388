"""The central cluster's administrator: shows a role (IAM), and makes topics and rights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millrace.base.errors import MillraceError
from millrace.provisioning.core.site_rights import Wanted
from millrace.provisioning.io.provisioner import provision_site
from millrace.sites.core.central import Central
from millrace.sites.core.spec import SiteSpec

if TYPE_CHECKING:
    from millrace.sites.core.spec import ClientSettings

NAME = "central"


def provision_central(central: Central, wanted: Wanted) -> list[str]:
    """Nothing where somebody else administers it."""
    if central.admin is None:
        return []
    cluster = SiteSpec(name=NAME, bootstrap=central.admin)
    return provision_site(cluster, wanted, role_settings(central.admin, central.region), _nobodys)


def role_settings(bootstrap: str, region: str) -> ClientSettings:
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider

    def token(_config: str) -> tuple[str, float]:
        """Asked for again by the client before it expires."""
        text, expires_ms = MSKAuthTokenProvider.generate_auth_token(region)
        return text, expires_ms / 1000

    settings: dict[str, Any] = {
        "bootstrap.servers": bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "ssl.ca.location": "probe",
        "oauth_cb": token,
    }
    return settings


def _nobodys(user: str) -> str:
    raise MillraceError(f"user {user!r} of the central cluster is made where its secret is kept")
