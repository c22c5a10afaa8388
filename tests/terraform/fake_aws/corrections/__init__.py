"""Where moto answers other than AWS does, as far as the provider notices; by service."""

from tests.terraform.fake_aws.corrections import ec2, emr_serverless, glue, kms, s3


def apply_all() -> None:
    for service in (ec2, emr_serverless, glue, kms, s3):
        service.apply()
