"""A gateway's own page: all of it in one piece of HTML that loads nothing."""

from __future__ import annotations

from html import escape

from millrace.base.size import format_size
from millrace.gateway.status.core.gateway_state import GatewayState, InputState

_HEADS = (
    *("input", "where", "connections", "taken/s", "delivered/s", "waiting", "oldest"),
    *("drained in", "spool", "refused", "malformed", "known", "connections refused, cut"),
    "dead letters",
)


def render_page(state: GatewayState) -> str:
    alarms = "".join(f"<li>{escape(alarm)}</li>" for alarm in state.alarms)
    verdict = f'<ul class="bad">{alarms}</ul>' if alarms else '<p class="good">All is well.</p>'
    risks = "".join(f"<li>{escape(risk)}</li>" for risk in state.risks)
    verdict += f'<ul class="risk">without TLS: {risks}</ul>' if risks else ""
    heads = "".join(f"<th>{head}</th>" for head in _HEADS)
    rows = "".join(_row(one) for one in state.inputs)
    return _FRAME.format(
        site=escape(state.site), verdict=verdict, heads=heads, rows=rows, clock=_clock(state)
    )


def _clock(state: GatewayState) -> str:
    """No alarm: a machine without a clock of its own is set after each boot."""
    if not state.clock_was_set:
        return ""
    return f"<p>This machine's clock was set {state.clock_was_set:,} times (see the log).</p>"


def _row(one: InputState) -> str:
    cells = (
        one.name,
        f"{one.kind} {one.listen}",
        f"{one.connections:,}",
        f"{one.taken_per_s:,.0f}",
        f"{one.delivered_per_s:,.0f}",
        f"{one.waiting:,}",
        _span(one.oldest_age_s),
        _span(one.drain_s) if one.waiting else "",
        f"{format_size(one.spool_bytes)} of {format_size(one.spool_limit_bytes)}",
        f"{one.refused:,}",
        f"{one.malformed:,}",
        f"{one.known:,}",
        f"{one.connections_refused:,}, {one.connections_cut:,}",
        f"{one.dead_letters:,}",
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7_200 else f"{seconds / 3_600:.1f} h"


_FRAME = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="refresh" content="5">
<title>Gateway of {site}</title>
<style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2em; color: #1a202c }}
table {{ border-collapse: collapse }} th, td {{ padding: .3em .8em; text-align: right }}
th {{ border-bottom: 1px solid #cbd5e0; font-weight: 600 }}
td:nth-child(-n+2), th:nth-child(-n+2) {{ text-align: left }}
.good {{ color: #276749 }} .bad {{ color: #9b2c2c }} .risk {{ color: #975a16 }}
</style></head><body>
<h1>Gateway of {site}</h1>
{verdict}
<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>
{clock}
</body></html>
"""
