"""A change of the sites from a form: the plan, a person's yes, and then what was shown."""

from __future__ import annotations

from typing import Any

from airflow.sdk import BaseOperator, Context

from millrace.platform.core.platform import Platform
from millrace.platform.io.environment import platform_here
from millrace.site_changes.core.site_request import SiteAction, SiteRequest, SiteRequestError
from millrace_airflow.base.host import AirflowFailException
from millrace_airflow.base.plain_errors import said_plainly
from millrace_airflow.base.plan_approve_do import ApprovePlanOperator

_PLAN = "plan"


class SiteOperator(BaseOperator):
    """Passwords stay in files: what is logged or handed on names where they are, and no more."""

    @property
    def layout(self) -> Platform:
        return platform_here()

    def say(self, line: str) -> None:
        self.log.info("%s", line)


class PlanSiteOperator(SiteOperator):
    """What would be done, line by line; refuses what cannot be."""

    def execute(self, context: Context) -> dict[str, str]:
        from millrace.site_changes.io.change_run import plan_change

        with said_plainly():
            lines = plan_change(self.layout, request_of(context["params"])).lines
        for line in lines:
            self.say(line)
        return {"text": "\n".join(lines)}


def approve_site() -> ApprovePlanOperator:
    return ApprovePlanOperator(
        task_id="approve",
        subject="{{ params.action | capitalize }} site {{ params.site or params.new_site }}?",
        shown_by=_PLAN,
    )


class ChangeSiteOperator(SiteOperator):
    """Does what was agreed to, and nothing else; ends with where the gateway's bundle is."""

    def execute(self, context: Context) -> dict[str, str | None]:
        from millrace.site_changes.io.change_run import carry_out, plan_change

        agreed = context["ti"].xcom_pull(task_ids=_PLAN)["text"]
        with said_plainly():
            plan = plan_change(self.layout, request_of(context["params"]))
            if "\n".join(plan.lines) != agreed:
                raise AirflowFailException(
                    "things have changed since you agreed; trigger it again. It would be now:\n"
                    + "\n".join(plan.lines)
                )
            bundle = carry_out(self.layout, plan, self.say)
        if bundle:
            self.say(f"bundle for the gateway (holds its password): {bundle}")
        return {"bundle": str(bundle) if bundle else None}


def request_of(form: Any) -> SiteRequest:
    action = SiteAction(form["action"])
    return SiteRequest(
        action=action,
        site=_site_of(action, form),
        bootstrap=form["bootstrap"] or None,
        description=form["description"] or None,
        client=form["client"] or {},
        local=form["local"],
        users=form["users"] or (),
        typed=form["typed"] or "",
        keep_users=form["keep_users"],
        dry_run=form["dry_run"],
    )


def _site_of(action: SiteAction, form: Any) -> str:
    mine, other = ("new_site", "site") if action is SiteAction.ADD else ("site", "new_site")
    if form[other]:
        raise SiteRequestError(f"the action is {action}: fill in {mine}, and leave {other} empty")
    if not form[mine]:
        raise SiteRequestError(f"the action is {action}: which site? Fill in {mine}")
    return str(form[mine])
