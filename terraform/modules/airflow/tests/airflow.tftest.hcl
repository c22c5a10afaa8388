mock_provider "aws" {
  source = "../mocks"
}

variables {
  name              = "millrace-test"
  bucket            = "millrace-test-airflow"
  release           = "0.1.0"
  dags_dir          = "./tests/dags"
  packed_dir        = "./tests/packed"
  settings          = "store: {kind: s3}"
  vpc_id            = "vpc-1"
  network_cidr      = "10.40.0.0/16"
  subnet_ids        = ["subnet-a", "subnet-b", "subnet-c"]
  s3_prefix_list_id = "pl-1"
  key_arn           = "arn:aws:kms:eu-central-1:123456789012:key/1"
}

run "reads_its_release_alone" {
  assert {
    condition     = aws_mwaa_environment.this.dag_s3_path == "releases/0.1.0/dags" && aws_s3_object.dag["one.py"].key == "releases/0.1.0/dags/one.py"
    error_message = "DAGs are where Airflow looks"
  }

  assert {
    condition     = aws_mwaa_environment.this.plugins_s3_path == "releases/0.1.0/plugins.zip"
    error_message = "plugins are of the same release"
  }
}

run "settings_and_startup_are_of_the_same_release" {
  assert {
    condition     = aws_s3_object.settings.key == "releases/0.1.0/dags/home/infra/local.yaml" && aws_mwaa_environment.this.startup_script_s3_path == "releases/0.1.0/startup.sh"
    error_message = "Airflow finds its settings, and what links them"
  }

  assert {
    condition     = aws_s3_object.home["schemas/1-heat.avsc"].key == "releases/0.1.0/dags/home/schemas/1-heat.avsc"
    error_message = "what DAGs read comes along"
  }
}

run "reject_settings_that_are_no_yaml" {
  command         = plan
  expect_failures = [var.settings]
  variables {
    settings = "store"
  }
}

run "pages_are_reached_from_inside_alone" {
  assert {
    condition     = aws_mwaa_environment.this.webserver_access_mode == "PRIVATE_ONLY"
    error_message = "no page in the internet"
  }
}

run "reject_release_without_version" {
  command         = plan
  expect_failures = [var.release]
  variables {
    release = "newest"
  }
}

run "reject_airflow_that_mwaa_lacks" {
  command         = plan
  expect_failures = [var.airflow_version]
  variables {
    airflow_version = "3.3.2"
  }
}

run "reject_folder_without_dags" {
  command         = plan
  expect_failures = [var.dags_dir]
  variables {
    dags_dir = "./tests/packed"
  }
}

run "reject_unknown_size" {
  command         = plan
  expect_failures = [var.size]
  variables {
    size = "huge"
  }
}

run "reject_one_zone" {
  command         = plan
  expect_failures = [var.subnet_ids]
  variables {
    subnet_ids = ["subnet-a"]
  }
}
