"""The environment as it was applied: settled, with its state locked and without secrets."""

from __future__ import annotations

from tests.terraform.cloud import STATE_BUCKET, Cloud
from tests.terraform.tool import NOTHING_TO_DO, Terraform


def test_a_second_plan_is_empty(dev: Terraform) -> None:
    assert dev.plan() == NOTHING_TO_DO


def test_state_is_in_a_versioned_bucket(cloud: Cloud, dev: Terraform) -> None:
    s3 = cloud.client("s3")
    assert s3.get_bucket_versioning(Bucket=STATE_BUCKET)["Status"] == "Enabled"
    assert s3.head_object(Bucket=STATE_BUCKET, Key="dev/terraform.tfstate")["ServerSideEncryption"]


def test_who_holds_the_state_keeps_others_out(cloud: Cloud, dev: Terraform) -> None:
    s3, lock = cloud.client("s3"), {"Bucket": STATE_BUCKET, "Key": "dev/terraform.tfstate.tflock"}
    s3.put_object(**lock, Body=b'{"ID": "another", "Who": "another@example"}')
    try:
        refused = dev.run("plan", allowed=(1,))
    finally:
        s3.delete_object(**lock)
    assert "Error acquiring the state lock" in refused.stderr
