"""The relay as it is, between two clusters: python -m benchmarks.contestants.relay FILE."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from millrace.gateway.simulator.io.simulator import stop_on_signals
from millrace.relay.core.spec import RelaySpec
from millrace.relay.io.cluster_login import Door
from millrace.relay.io.relay_run import Relay
from millrace.sites.core.spec import SiteSpec


def main(file: Path) -> None:
    race = json.loads(file.read_text())
    relay = Relay(
        RelaySpec.model_validate(race["relay"]),
        [_door(source) for source in race["sources"]],
        _door(race["target"]),
        stop=stop_on_signals(),
        publish=lambda _: None,
        on_halt=lambda halt: _say(halt.text),
        on_renewal=lambda renewal: _say(renewal.text),
        say=_say,
    )
    relay.run()


def _door(way: dict[str, Any]) -> Door:
    return Door(SiteSpec.model_validate(way["cluster"]), way["settings"], login=dict)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
