"""The DAG `sites`: its shape, its form, and operators that show, ask, and do what was agreed to."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from millrace.platform.core.platform import Platform
from millrace.secrets.io.passwords import ensure_user, read_user
from millrace.sites.core.user_names import SITE_USERS
from millrace_airflow.base.host import (
    AirflowFailException,
    AirflowSkipException,
    ParamValidationError,
)
from millrace_airflow.site_changes.site_operators import (
    ChangeSiteOperator,
    PlanSiteOperator,
    approve_site,
    request_of,
)
from tests.airflow.bag import DagBag
from tests.airflow.conftest import REPOSITORY, SITE

EMPTY_FORM = {
    "action": "change",
    "site": None,
    "new_site": None,
    "bootstrap": None,
    "description": None,
    "client": None,
    "local": False,
    "users": None,
    "typed": None,
    "keep_users": False,
    "dry_run": False,
}
ADD_HERE = {
    "action": "add",
    "new_site": "plant-c",
    "bootstrap": "127.0.0.1:19292",
    "local": True,
}


def sites_dag() -> Any:
    found = DagBag(dag_folder=REPOSITORY / "dags" / "sites.py", safe_mode=True)
    assert found.import_errors == {}
    return found.dags["sites"]


def planned(**said: Any) -> dict[str, str]:
    return PlanSiteOperator(task_id="plan").execute(context(**said))


def context(shown: str | None = None, **said: Any) -> Any:
    ti = SimpleNamespace(xcom_pull=lambda **_: {"text": shown})
    return {"params": EMPTY_FORM | said, "ti": ti}


def apply(shown: str, **said: Any) -> dict[str, str | None]:
    return ChangeSiteOperator(task_id="apply").execute(context(shown, **said))


def test_a_person_is_asked_between_the_plan_and_the_deed(layout: Platform) -> None:
    assert {task.task_id: set(task.downstream_task_ids) for task in sites_dag().tasks} == {
        "plan": {"approve"},
        "approve": {"apply"},
        "apply": set(),
    }


def test_the_form_of_a_checkout_without_a_site_adds_the_first(layout: Platform) -> None:
    (layout.sites / "plant-a.yaml").unlink()
    assert sites_dag().params.get_param("site").schema["enum"] == [None]
    assert "plant-c.yaml: written" in planned(**ADD_HERE)["text"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"action": "destroy"},
        {"site": "plant-z"},
        {"new_site": "Plant C"},
        {"client": {"a": ["b"]}},
        {"users": ["root"]},
        {"local": "perhaps"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_form_refuses_what_cannot_be(layout: Platform, wrong: dict[str, Any]) -> None:
    (name,) = wrong
    with pytest.raises(ParamValidationError):
        sites_dag().params.get_param(name).resolve(wrong[name])


def test_the_form_takes_what_it_offers(layout: Platform) -> None:
    params = sites_dag().params
    assert {name: params.get_param(name).resolve() for name in params} == EMPTY_FORM
    assert params.get_param("site").resolve("plant-a") == "plant-a"
    assert params.get_param("users").resolve(list(SITE_USERS)) == list(SITE_USERS)


def test_no_field_is_hidden_and_each_explains_itself(layout: Platform) -> None:
    params = sites_dag().params
    for name in params:
        param = params.get_param(name)
        assert param.schema["title"]
        assert param.description
        assert "section" not in param.schema


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"action": "add", "site": "plant-a"}, "fill in new_site, and leave site empty"),
        ({"action": "retire"}, "which site"),
        ({"action": "rotate", "site": "plant-a"}, "whose password"),
        ({"action": "retire", "site": "plant-a", "typed": "plant-a"}, "named by dags/pipelines"),
        ({"action": "add", "new_site": "plant-c", "bootstrap": "c"}, "not host:port"),
    ],
)
def test_what_cannot_be_fails_with_the_way_out(
    layout: Platform, said: dict[str, Any], why: str
) -> None:
    with pytest.raises(AirflowFailException, match=why):
        planned(**said)


def test_nobody_is_asked_in_a_dry_run(layout: Platform) -> None:
    with pytest.raises(AirflowSkipException, match="dry run"):
        approve_site().execute(context("", dry_run=True))


def test_what_was_agreed_to_is_done_and_the_bundle_is_named_alone(
    layout: Platform, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    done = apply(planned(**ADD_HERE)["text"], **ADD_HERE)
    assert done == {"bundle": str(layout.bundles / "plant-c-gateway.tar.gz")}
    assert Path(str(done["bundle"])).stat().st_mode & 0o777 == 0o600
    assert "bootstrap: 127.0.0.1:19292" in layout.site("plant-c").read_text()
    # Airflow 3.3 writes a task's log to stdout, 3.0 through logging.
    logged = capsys.readouterr().out + caplog.text
    assert "bundle for the gateway" in logged
    assert read_user(layout, "plant-c", "gateway").password not in logged


def test_what_nobody_agreed_to_is_not_done(layout: Platform) -> None:
    said = {"site": "plant-a", "description": "Mill"}
    shown = planned(**said)["text"]
    layout.site("plant-a").write_text(SITE + "description: Bakery\n")
    with pytest.raises(AirflowFailException, match=r"changed since you agreed.*\n.*'Bakery'"):
        apply(shown, **said)
    assert "Bakery" in layout.site("plant-a").read_text()


def test_a_site_is_retired_where_all_pipelines_go_on_without_it(layout: Platform) -> None:
    pipeline = layout.pipelines / "temperature.yaml"
    pipeline.write_text(pipeline.read_text().replace("[plant-a]", "all"))
    layout.site("plant-b").write_text(SITE.replace("plant-a", "plant-b").replace("9092", "9099"))
    ensure_user(layout, "plant-b", "app")
    said = {"action": "retire", "site": "plant-b", "typed": "plant-b", "keep_users": True}
    assert apply(planned(**said)["text"], **said) == {"bundle": None}
    assert [file.name for file in layout.sites.glob("*.yaml")] == ["plant-a.yaml"]
    assert (layout.retired_sites / "plant-b.yaml").exists()
    assert "plant-b" in sites_dag().params.get_param("site").schema["enum"]


def test_a_new_site_is_not_one_that_is_changed() -> None:
    assert request_of(EMPTY_FORM | ADD_HERE).site == "plant-c"
