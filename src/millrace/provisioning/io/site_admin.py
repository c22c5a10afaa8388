"""A site's administrator, with the certificate and the passwords that are kept here."""

from __future__ import annotations

from millrace.kafka.core.kafka_client import admin_settings
from millrace.provisioning.core.site_rights import Wanted
from millrace.provisioning.io.admin import Admin
from millrace.provisioning.io.provisioner import provision_site
from millrace.secrets.io.passwords import draft_password, ensure_user
from millrace.settings.core.paths import Paths
from millrace.sites.core.spec import ClientSettings, SiteSpec


def provision_as_admin(layout: Paths, site: SiteSpec, wanted: Wanted) -> list[str]:
    """A user whom the site lacks gets the password on file, or one that is made now."""

    def password_of(user: str) -> str:
        return ensure_user(layout, site.name, user).password

    return provision_site(site, wanted, _settings(layout, site), password_of)


def admin_of(layout: Paths, site: SiteSpec, timeout_s: float = 15.0) -> Admin:
    """One who gives users their next passwords."""

    def password_of(user: str) -> str:
        return draft_password(layout, site.name, user).password

    return Admin(site, _settings(layout, site), password_of, timeout_s)


def _settings(layout: Paths, site: SiteSpec) -> ClientSettings:
    return admin_settings(site, layout.ca, layout.certificate(site.name, "admin"))
