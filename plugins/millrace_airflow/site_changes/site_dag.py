"""The DAG `sites`: its form, with what there is to choose from, and its shape."""

from __future__ import annotations

from airflow.sdk import DAG, Param

from millrace.base.errors import MillraceError
from millrace.deployments import text as docs
from millrace.platform.core.platform import Platform
from millrace.site_changes.core.site_request import SiteAction
from millrace.site_changes.io.present import read_present
from millrace.sites.core.user_names import SITE_USERS
from millrace_airflow.base.plan_approve_do import plan_approve_do, text_field, tick
from millrace_airflow.site_changes.site_operators import (
    ChangeSiteOperator,
    PlanSiteOperator,
    approve_site,
)


def sites_dag(layout: Platform) -> DAG:
    return plan_approve_do(
        "sites",
        form=_form(_known_sites(layout)),
        plan=lambda: PlanSiteOperator(task_id="plan"),
        approve=approve_site,
        do=lambda: ChangeSiteOperator(task_id="apply"),
        description="Adds, changes, retires a site or renews its passwords, after a person's yes",
        doc_md=docs.SITES,
    )


def _known_sites(layout: Platform) -> list[str]:
    """Also those whose retirement was cut short."""
    try:
        present = read_present(layout)
    except MillraceError:
        # dags/check_files.py shows what is wrong, and so does the plan.
        return []
    return sorted({site.name for site in (*present.sites, *present.leaving)})


def _form(known: list[str]) -> dict[str, Param]:
    return {
        "action": Param(
            SiteAction.CHANGE.value,
            enum=[action.value for action in SiteAction],
            title="Action",
            description="add: users, topics and rights on its cluster, then its file. change: its"
            " file. rotate: new passwords. retire: file, users and rights go; topics and data stay."
            " All but retire end with a bundle for the site's gateway.",
        ),
        "site": Param(
            None,
            type=["null", "string"],
            enum=[None, *known],
            values_display={"null": "(none)"},
            title="Site",
            description="Which to change, rotate or retire.",
        ),
        "new_site": text_field(
            "New site",
            "For add: its name. Small letters, digits and '-'.",
            pattern="^[a-z][a-z0-9-]*$",
            maxLength=48,
        ),
        "bootstrap": text_field(
            "Bootstrap",
            "For add and change: host:port of its Kafka cluster, several with commas. It has to"
            " answer before anything is written.",
        ),
        "description": text_field("Description", "For add and change: for people."),
        "client": Param(
            None,
            type=["null", "object"],
            additionalProperties={"type": ["string", "number", "boolean"]},
            title="Client settings",
            description="For add and change: what tunes the Kafka clients, such as"
            ' {"socket.keepalive.enable": true}. An empty text takes one away; no passwords here.',
        ),
        "local": tick("Local broker", "For add: this machine runs the broker, from 'up' on."),
        "users": Param(
            None,
            type=["null", "array"],
            items={"type": "string", "enum": list(SITE_USERS)},
            examples=list(SITE_USERS),
            title="Users",
            description="For rotate: whose password is made anew. Who is connected stays so.",
        ),
        "typed": text_field("Type the site's name", "For retire: once more, to be sure."),
        "keep_users": tick(
            "Keep users",
            "For retire: leave users and rights on the cluster, as where it is gone for good.",
        ),
        "dry_run": tick("Dry run", "Only show the plan; ask nobody and change nothing."),
    }
