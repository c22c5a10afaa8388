"""How many open files a process may have, and how many of them its connections may take."""

from __future__ import annotations

from millrace.base.errors import MillraceError

# Of the process itself: its log, its event loop, connections to brokers, files that are read anew.
_OWN = 96
# Of an input or another spool: the segment that is written, the next one, the one that is read.
_A_SPOOL = 8
_FEWEST = 16


def connections_within(limit: int, spools: int) -> int:
    """What is left for connections where a process may have `limit` open files."""
    kept_back = _OWN + _A_SPOOL * spools
    left = limit - kept_back
    if left < _FEWEST:
        raise MillraceError(
            f"this process may have {limit} open files (ulimit -n), of which {kept_back} are kept"
            f" back for its disk and its broker; allow {kept_back + _FEWEST} or more"
            " (LimitNOFILE= in its systemd unit)"
        )
    return left
