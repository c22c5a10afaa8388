"""The environment as it was applied: settled, with its state locked and without secrets."""

from __future__ import annotations

from tests.terraform.support.cloud import STATE_BUCKET, Cloud
from tests.terraform.support.tool import CHANGES, NOTHING_TO_DO, Terraform

STATE = "dev/terraform.tfstate"


def test_a_second_plan_is_empty(dev: Terraform) -> None:
    assert dev.plan() == NOTHING_TO_DO


def test_bootstrap_says_where_the_state_is(cloud: Cloud, dev: Terraform) -> None:
    assert cloud.terraform("bootstrap").output()["backend"] == cloud.backend.read_text()


def test_state_is_versioned_and_encrypted(cloud: Cloud, dev: Terraform) -> None:
    s3 = cloud.client("s3")
    assert s3.get_bucket_versioning(Bucket=STATE_BUCKET)["Status"] == "Enabled"
    state = s3.head_object(Bucket=STATE_BUCKET, Key=STATE)
    assert (state["ServerSideEncryption"], state["SSEKMSKeyId"]) == ("aws:kms", _state_key(cloud))


def _state_key(cloud: Cloud) -> str:
    key = cloud.client("kms").describe_key(KeyId="alias/millrace-state")
    return str(key["KeyMetadata"]["Arn"])


def test_who_holds_the_state_keeps_others_out(cloud: Cloud, dev: Terraform) -> None:
    s3, lock = cloud.client("s3"), {"Bucket": STATE_BUCKET, "Key": f"{STATE}.tflock"}
    s3.put_object(**lock, Body=b'{"ID": "another", "Who": "another@example"}')
    try:
        refused = dev.run("plan", allowed=(1,))
    finally:
        s3.delete_object(**lock)
    assert "Error acquiring the state lock" in refused.stderr


def test_no_password_is_in_any_version_of_the_state(cloud: Cloud, dev: Terraform) -> None:
    output, s3 = dev.output(), cloud.client("s3")
    secrets = [site["secret_arn"] for site in output["sites"].values()]
    passwords = [cloud.login(arn)["password"] for arn in (*secrets, output["jobs"]["secret_arn"])]
    versions = s3.list_object_versions(Bucket=STATE_BUCKET, Prefix=STATE)["Versions"]
    states = [
        s3.get_object(Bucket=STATE_BUCKET, Key=one["Key"], VersionId=one["VersionId"])["Body"]
        for one in versions
    ]
    text = "".join(state.read().decode() for state in states)
    assert all(len(password) == 40 for password in passwords)
    assert secrets[0] in text
    assert not [password for password in passwords if password in text]


def test_the_other_environment_has_a_state_of_its_own(cloud: Cloud, dev: Terraform) -> None:
    assert cloud.init("prod").plan() == CHANGES
