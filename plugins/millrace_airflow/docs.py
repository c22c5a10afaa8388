"""What an operator reads on a DAG's page."""

from __future__ import annotations

from millrace.core.duration import format_duration
from millrace.core.pipeline import PipelineSpec


def pipeline_doc(spec: PipelineSpec) -> str:
    sites = "all sites" if spec.sites == "all" else ", ".join(spec.sites)
    return f"""\
### Pipeline {spec.name}

Brings `{"`, `".join(spec.topics)}` from {sites} into the table `bronze.{spec.table}`,
every {format_duration(spec.freshness)}. Made from `dags/pipelines/{spec.name}.yaml`; edit that.

| task | what it does |
|---|---|
| provision | makes missing topics, users, ACLs, tables and folders; its log lists them |
| deploy | starts the job, adopts the one that runs, or replaces it when its files changed |
| supervise | watches the job and starts it again when it dies; its log says why it died |

- **A change**: save the file. Supervise ends, the next run deploys.
- **Stop**: pause this DAG, then mark *supervise* as failed. The job finishes its batch and ends.
- **Start**: unpause.
- **Restart**: mark *supervise* as failed while the DAG is not paused.

The job does not need Airflow to run, only to be started again.
"""
