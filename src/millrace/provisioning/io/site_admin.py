"""A site's administrator, with the certificate and the passwords that are kept here."""

from __future__ import annotations

from millrace.core.kafka_client import admin_settings
from millrace.core.layout import Layout
from millrace.core.provision import Wanted
from millrace.core.site import ClientSettings, SiteSpec
from millrace.edge.admin import Admin
from millrace.edge.provision import provision_site
from millrace.local.secrets import draft_password, ensure_user


def provision_as_admin(layout: Layout, site: SiteSpec, wanted: Wanted) -> list[str]:
    """A user whom the site lacks gets the password on file, or one that is made now."""

    def password_of(user: str) -> str:
        return ensure_user(layout, site.name, user).password

    return provision_site(site, wanted, _settings(layout, site), password_of)


def admin_of(layout: Layout, site: SiteSpec, timeout_s: float = 15.0) -> Admin:
    """One who gives users their next passwords."""

    def password_of(user: str) -> str:
        return draft_password(layout, site.name, user).password

    return Admin(site, _settings(layout, site), password_of, timeout_s)


def _settings(layout: Layout, site: SiteSpec) -> ClientSettings:
    return admin_settings(site, layout.ca, layout.certificate(site.name, "admin"))
