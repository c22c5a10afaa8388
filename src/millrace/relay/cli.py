"""`millrace relay`: topics of sites, brought to another cluster exactly once."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from millrace.base.errors import MillraceError
from millrace.base.names import Name, TopicName, is_named
from millrace.base.output import print_line
from millrace.kafka.core.coordinates import Part
from millrace.platform.io.environment import platform_here

_PART = re.compile(r"(?P<site>[^/]+)/(?P<topic>[^/]+)/(?P<partition>[0-9]+)(:(?P<offset>[0-9]+))?")


def relay(
    name: Annotated[str, typer.Argument(help="A relay's name, as in dags/relays/<name>.yaml.")],
    *,
    provision: Annotated[
        bool,
        typer.Option(
            "--provision",
            help="Make the users and rights that it needs at its sites and its target, and end.",
        ),
    ] = False,
    lossy: Annotated[
        str | None,
        typer.Option(
            "--accept-loss",
            metavar="SITE/TOPIC/PARTITION[:OFFSET]",
            help="Let a partition that was halted go on: at what the site still has, or at an"
            " offset. What lies before it is never relayed. The relay that runs is restarted.",
        ),
    ] = None,
) -> None:
    """Bring a relay's topics to its cluster, each record once, until Ctrl-C.

    Goes on where it was, whatever ended it. A partition whose records were deleted before they
    could be relayed is halted and told of, never skipped; the others go on.

    Example: millrace relay to-centre
    """
    # The engine is imported by the command that needs it: `millrace check` needs none.
    from millrace.gateway.simulator.io.simulator import stop_on_signals
    from millrace.relay.io.local_relay import RelayPlan, go_on_behind, provision_relay, run_relay

    layout = platform_here()
    if provision:
        changed = provision_relay(layout, RelayPlan.load(layout, name))
        print_line("\n".join(changed) or "nothing to change")
    elif lossy:
        part, offset = read_part(lossy)
        begin = go_on_behind(layout, name, part, offset)
        print_line(f"{part} goes on at offset {begin}; start relay {name!r} if it does not run")
    else:
        run_relay(layout, name, stop_on_signals(), print_line)


def read_part(text: str) -> tuple[Part, int | None]:
    found = _PART.fullmatch(text)
    if not (found and is_named(Name, found["site"]) and is_named(TopicName, found["topic"])):
        raise MillraceError(
            f"--accept-loss={text!r}: write SITE/TOPIC/PARTITION or SITE/TOPIC/PARTITION:OFFSET,"
            " such as plant-a/temperature-data/0"
        )
    offset = found["offset"]
    part = Part(found["site"], found["topic"], int(found["partition"]))
    return part, int(offset) if offset else None
