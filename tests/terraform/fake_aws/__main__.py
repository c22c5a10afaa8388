"""python -m tests.terraform.fake_aws PORT: on 127.0.0.1, until it is killed."""

from __future__ import annotations

import os
import sys

# Managed policies are data that moto loads only when asked to.
os.environ.setdefault("MOTO_IAM_LOAD_MANAGED_POLICIES", "true")

from moto.moto_server.werkzeug_app import MotoRequestHandler
from werkzeug.serving import run_simple

from tests.terraform.fake_aws import corrections
from tests.terraform.fake_aws.front import Front

if __name__ == "__main__":
    corrections.apply_all()
    port = int(sys.argv[1])
    run_simple("127.0.0.1", port, Front(), threaded=True, request_handler=MotoRequestHandler)
