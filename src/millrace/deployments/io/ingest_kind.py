"""The kind `ingest`: the job that brings the topics of a pipeline into its tables."""

from __future__ import annotations

from pathlib import Path

from millrace.ingest.core.ingest_beat import IngestBeat
from millrace.ingest.io.ingest_deployment import PipelineDeployment, read_deployment
from millrace.pipelines.core.spec import dag_id_of
from millrace.pipelines.io.deployed_files import deployed_files
from millrace.platform.core.platform import Platform


class IngestKind:
    deployment = PipelineDeployment
    beat = IngestBeat

    def read(self, layout: Platform, job_id: str) -> PipelineDeployment:
        return read_deployment(layout, job_id)

    def files(self, layout: Platform, job_id: str) -> list[Path]:
        return deployed_files(layout, job_id)

    def provision(
        self, deployment: PipelineDeployment, layout: Platform, *, last_try: bool
    ) -> list[str]:
        from millrace.deployments.io.pipeline_needs import provision_pipeline

        return provision_pipeline(deployment, layout, last_try=last_try)

    def dag_id(self, job_id: str) -> str:
        return dag_id_of(job_id)
