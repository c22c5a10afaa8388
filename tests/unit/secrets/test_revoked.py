"""How many certificates a list of revoked ones may hold."""

from __future__ import annotations

import pytest

from millrace.secrets.core.revoked import MOST, revoked_in


def test_a_list_of_revoked_certificates_that_is_too_long_is_refused():
    lines = [f"{number:064x}" for number in range(MOST + 1)]
    assert len(revoked_in("\n".join(lines[1:]))) == MOST
    with pytest.raises(ValueError, match="may hold 100,000"):
        revoked_in("\n".join(lines))
