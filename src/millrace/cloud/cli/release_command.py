"""`millrace release`: check the files, and pack what Terraform takes to the cloud."""

from __future__ import annotations

from millrace.cli.output import print_line
from millrace.settings import layout_here
from millrace.tasks.release import pack


def release() -> None:
    """Check the files, and pack plugins, requirements and what Terraform is told of pipelines."""
    layout = layout_here()
    print_line(f"packed release {pack(layout)} into {layout.release}")
