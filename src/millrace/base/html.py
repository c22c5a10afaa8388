"""Pages that need nothing else: no script, no image, no network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 1.6rem; }
.passed { color: #18794e; } .failed { color: #ce2c31; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; }
td { border-top: 1px solid #8884; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
code, pre { font-size: .9em; overflow-wrap: anywhere; white-space: pre-wrap; }
small { opacity: .75; }
""".strip()


def document(title: str, body: Iterable[str]) -> str:
    """`title` is text; `body` is HTML already."""
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width">',
            f"<title>{escape(title)}</title><style>{_STYLE}</style></head><body>",
            *body,
            "</body></html>",
        )
    )


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Of plain values; nothing where there is no row."""
    lines = ["".join(f"<td>{escape(_shown(value))}</td>" for value in row) for row in rows]
    if not lines:
        return []
    head = "".join(f"<th>{escape(text)}</th>" for text in heads)
    return [
        f"<table><thead><tr>{head}</tr></thead>",
        *(f"<tr>{one}</tr>" for one in lines),
        "</table>",
    ]


def _shown(value: object) -> str:
    return "" if value is None else str(value)
