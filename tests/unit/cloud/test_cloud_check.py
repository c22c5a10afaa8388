"""What is missing in an environment, each with the way out."""

from __future__ import annotations

import copy
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from millrace.cli import app
from millrace.cloud.core.cloud_check import JOBS, WantedEnvironment, find_gaps
from millrace.cloud.core.infrastructure import InfrastructureError
from millrace.cloud.io.release import name_release
from millrace.cloud.io.terraform_outputs import read_outputs
from millrace.pipelines.core.spec import PipelineSpec
from millrace.platform.core.platform import Platform
from millrace.settings.core.paths import HOME_VARIABLE
from millrace.sites.core.spec import SiteSpec

CHECKOUT = Path(__file__).parents[3]
ACCOUNT = "123456789012"
SECRET = f"arn:aws:secretsmanager:eu-central-1:{ACCOUNT}:secret:AmazonMSK_x"
PIPELINE = PipelineSpec(
    name="heat", sites="all", topics=("heat",), format="json", table="heat", runner="emr-serverless"
)
ASKED = WantedEnvironment(
    environment="prod",
    release="0.1.0-abc",
    pipelines=(PIPELINE,),
    sites=(SiteSpec(name="plant-a", bootstrap="a.example:1"),),
)


def outputs(site: str = "plant-a", topic: str = "plant-a.heat") -> dict[str, Any]:
    rights = [{"user": site, "name": topic, "operation": word} for word in ("write", "describe")]
    return {
        "local": {
            "store": {"kind": "s3", "bucket": "lake", "region": "eu-central-1"},
            "emr_serverless": {
                "application": "00abc",
                "role": f"arn:aws:iam::{ACCOUNT}:role/ingest",
                "region": "eu-central-1",
            },
            "central": {"bootstrap": "b:9096", "admin": "b:9098", "secret": SECRET},
            "metrics": {"namespace": "Millrace", "region": "eu-central-1"},
        },
        "jobs": {
            "image": "repository",
            "image_tag": "1",
            "bootstrap": "b:9096",
            "secret_arn": SECRET,
            "role_arns": {job: f"arn:{job}" for job in JOBS},
        },
        "airflow": {"release": "0.1.0-abc"},
        "sites": {
            site: {
                "bootstrap": "b:9096",
                "user": site,
                "secret_arn": SECRET,
                "policy_arn": "arn",
                "topics": [topic],
                "acls": rights,
            }
        },
    }


def test_an_environment_that_holds_all_has_no_gap() -> None:
    assert find_gaps(ASKED, outputs()) == []


def test_one_that_was_never_applied_says_how() -> None:
    assert [str(gap) for gap in find_gaps(ASKED, {})] == [
        "prod was never applied; run 'make release', and 'terraform apply' in"
        " terraform/environments/prod"
    ]


@pytest.mark.parametrize(
    ("path", "said"),
    [
        *(
            (("local", key), f"output local lacks {key}")
            for key in ("store", "emr_serverless", "central", "metrics")
        ),
        *((("jobs", "role_arns", job), f"no role for {job}") for job in JOBS),
        *((("jobs", key), f"lacks {key}") for key in ("bootstrap", "secret_arn", "image")),
        (("jobs", "image_tag"), "jobs have no image; push it to repository"),
        (("airflow", "release"), "Airflow has release (none), and the files here are 0.1.0-abc"),
        (("sites", "plant-a"), "pipeline heat: site plant-a has no user"),
        *(
            (("sites", "plant-a", key), f"site plant-a: its bundle lacks {key}")
            for key in ("bootstrap", "user", "secret_arn", "policy_arn")
        ),
        (("sites", "plant-a", "topics"), "site plant-a has no topic plant-a.heat"),
        (("sites", "plant-a", "acls"), "site plant-a may not write its topic plant-a.heat"),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else None,
)
def test_what_is_missing_is_named_alone(path: tuple[str, ...], said: str) -> None:
    told = copy.deepcopy(outputs())
    place = told
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    gaps = [str(gap) for gap in find_gaps(ASKED, told)]
    assert len(gaps) == 1
    assert said in gaps[0]


def test_a_value_that_no_runner_takes_is_shown() -> None:
    told = outputs()
    told["local"]["emr_serverless"]["role"] = "ingest"
    assert "emr_serverless.role='ingest'" in str(find_gaps(ASKED, told)[0])


def test_a_pipeline_of_this_machine_has_no_place_there() -> None:
    here = ASKED.model_copy(
        update={"pipelines": (PIPELINE.model_copy(update={"runner": "local"}),)}
    )
    assert [str(gap) for gap in find_gaps(here, outputs())] == [
        "pipeline heat: runner='local' has no machine there; write runner: emr-serverless in"
        " dags/pipelines/heat.yaml"
    ]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("dags", "plugins", "expectations", "schemas"):
        shutil.copytree(CHECKOUT / name, tmp_path / name)
    shutil.copytree(CHECKOUT / "src/millrace/jobs", tmp_path / "src/millrace/jobs")
    for name in ("pyproject.toml", "uv.lock"):
        shutil.copy(CHECKOUT / name, tmp_path)
    (tmp_path / "terraform/environments/prod").mkdir(parents=True)
    file = tmp_path / "dags/pipelines/temperature.yaml"
    file.write_text(file.read_text().replace("runner: local", "runner: emr-serverless"))
    monkeypatch.setenv(HOME_VARIABLE, str(tmp_path))
    return tmp_path


def told_file(home: Path, release: str) -> Path:
    told = outputs()
    told["airflow"]["release"] = release
    for site in ("plant-a", "plant-b"):
        told["sites"] |= outputs(site, f"{site}.temperature-data")["sites"]
    file = home / "told.json"
    file.write_text(json.dumps({name: {"value": value} for name, value in told.items()}))
    return file


def check(home: Path, file: Path, *options: str) -> Any:
    arguments = ["check", "--environment", "prod", "--outputs", str(file), *options]
    return CliRunner().invoke(app, arguments)


def test_the_command_says_that_all_is_there(home: Path) -> None:
    done = check(home, told_file(home, name_release(Platform(home))))
    assert (done.exit_code, done.stdout) == (0, "prod has all that 1 pipeline needs\n")
    assert not (home / "var" / "release").exists()


def test_the_command_names_gaps_for_people_and_for_programs(home: Path) -> None:
    file = told_file(home, "0.1.0-old")
    done = check(home, file)
    assert done.exit_code == 2
    assert "prod: Airflow has release 0.1.0-old" in done.stderr
    gaps = json.loads(check(home, file, "--json").stdout)["gaps"]
    assert [set(gap) for gap in gaps] == [{"what", "way_out"}]


@pytest.mark.parametrize(
    ("environment", "text", "said"),
    [
        ("stage", "{}", "there is prod"),
        ("prod", "no JSON", "terraform output -json"),
        ("prod", '{"local": 1}', "terraform output -json"),
    ],
)
def test_outputs_of_another_form_are_refused(
    home: Path, environment: str, text: str, said: str
) -> None:
    file = home / "told.json"
    file.write_text(text)
    with pytest.raises(InfrastructureError, match=said):
        read_outputs(Platform(home), environment, file)


def test_outputs_are_asked_for_where_terraform_is(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = home / "bin" / "terraform"
    program.parent.mkdir()
    program.write_text("""#!/bin/sh\necho '{"where": {"value": "'$(basename $PWD)'"}}'\n""")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert read_outputs(Platform(home), "prod", None) == {"where": "prod"}


def test_a_machine_without_terraform_is_told_of_the_file(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InfrastructureError, match="name the file by --outputs"):
        read_outputs(Platform(home), "prod", None)
