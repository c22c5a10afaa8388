# Millrace. `make` alone lists what there is.
PYTHON ?= python3
INSTALL = PYTHONPATH=src $(PYTHON) -m millrace.stack.install.install
MILLRACE = .venv/bin/millrace
PYTEST = .venv/bin/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help install pin-jars up down status reset check release dev lint test unit spark airflow airflow-newest airflow-oldest integration e2e browser terraform containers machine bench bench-full faults fuzz newest-spark test-all beside-integration

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' Makefile

install: ## Install what the lock says (up and test do it too)
	@$(INSTALL) $(if $(REGISTRY),--registry)

up: install ## Check the machine, install, start everything, say where to look (STORE=s3: in a bucket; RUNNER=standalone: on a Spark cluster; CENTRE=1: with a central cluster; REGISTRY=1: with a schema registry)
	@$(MILLRACE) up $(if $(STORE),--store $(STORE)) $(if $(RUNNER),--runner $(RUNNER)) $(if $(CENTRE),--$(if $(filter 0,$(CENTRE)),no-)centre) $(if $(REGISTRY),--registry)

down: ## Stop everything; data stays
	@$(MILLRACE) down

status: ## What runs, and how it does
	@$(MILLRACE) status

reset: ## Stop everything and delete var/ (asks first)
	@$(MILLRACE) reset

check: install ## Validate the pipeline and site files
	@$(MILLRACE) check

release: install ## Pack what Terraform takes to the cloud into var/release
	@$(MILLRACE) release

dev:
	@$(INSTALL) --dev

pin-jars: ## Write infra/jars.sha256 anew, of the jars that were fetched and looked at
	@$(INSTALL) --pin

lint: dev ## Lint, format, types and the rings
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	PYTHONPATH=plugins .venv/bin/lint-imports
	.venv/bin/hadolint infra/docker/Dockerfile

# FULL=--full: with the tests that are marked `long`, and every cell of every matrix.
unit: dev ## Tests that need nothing but Python
	$(PYTEST) tests/unit $(FULL)

spark: dev ## Tests on a local Spark session
	.venv-lake/bin/python -m pytest tests/spark $(FULL)

airflow: dev ## Tests of DAGs, operators and triggers, on the newest Airflow and on the oldest
	@$(INSTALL) --dev --airflow-3.0
	@$(MAKE) --no-print-directory -j2 --output-sync=target airflow-newest airflow-oldest

airflow-newest:
	$(PYTEST) tests/airflow $(FULL)

airflow-oldest:
	.venv-airflow-3.0/bin/python -m pytest tests/airflow $(FULL)

integration: dev ## Tests on a real broker and real jobs
	@$(INSTALL) --dev --registry
	$(PYTEST) tests/integration $(FULL)

e2e: dev ## The whole product, through its own doors
	$(PYTEST) tests/e2e $(FULL)

browser: ## What an operator does, in a real chromium (PICTURES=docs/guide/images: take pictures)
	@$(INSTALL) --dev --browser
	.venv-browser/bin/python -m pytest tests/browser $(if $(PICTURES),--pictures $(PICTURES))

terraform: ## Tests of the cloud's infrastructure, on AWS made of moto; needs the programs terraform and tflint
	@$(INSTALL) --dev --terraform
	.venv-terraform/bin/python -m pytest tests/terraform

containers: dev ## Tests of docker-compose.yml, on a Docker engine; where there is none, root makes one
	$(PYTEST) tests/containers

machine: dev ## A site's gateway on a bare Debian machine with systemd; needs root, mmdebstrap and systemd-container
	$(PYTEST) tests/machine

bench: ## Speed and memory beside what people use instead, in ten minutes
	@$(INSTALL) --bench
	.venv-bench/bin/python -m benchmarks

bench-full: ## The same with longer warm-ups and two turns, in twenty minutes; writes docs/benchmarks.md
	@$(INSTALL) --bench
	.venv-bench/bin/python -m benchmarks --full

faults: dev ## Every fault of the edge under load, counted; writes docs/faults.md (NAMES="broker-killed ...": these alone)
	.venv/bin/python -m benchmarks.faults $(NAMES)

fuzz: dev ## Tests with generated inputs, new ones for as long as you like (MINUTES=10)
	@PYTHON=.venv/bin/python LAKE_PYTHON=.venv-lake/bin/python tests/fuzz.sh $(if $(MINUTES),$(MINUTES),10)

newest-spark: dev ## tests/spark with the newest patches of Spark and Delta that can be had, in a copy
	@tests/newest_spark.sh

test-all: ## All of it, with every cell of every matrix and the newest Spark; takes hours
	@$(MAKE) --no-print-directory test FULL=--full
	@tests/newest_spark.sh

test: dev ## All of it but the longest; installs and starts what it needs, the quickest first
	@$(MAKE) --no-print-directory -j2 --output-sync=target lint unit
	@$(MAKE) --no-print-directory airflow
	@$(MAKE) --no-print-directory -j2 --output-sync=target integration beside-integration

# The longest tier on the one side, the others one after the other beside it.
beside-integration:
	@$(MAKE) --no-print-directory spark
	@$(MAKE) --no-print-directory e2e
