"""`millrace release`: check the files, and pack what Terraform takes to the cloud."""

from __future__ import annotations

from millrace.base.output import print_line
from millrace.cloud.io.release import pack
from millrace.platform.io.environment import platform_here


def release() -> None:
    """Check the files, and pack plugins, requirements and what Terraform is told of pipelines."""
    layout = platform_here()
    print_line(f"packed release {pack(layout)} into {layout.release}")
