"""What the whole platform is made of here, as `infra/local.yaml` and the environment say."""
