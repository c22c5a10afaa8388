"""The process of a gateway."""

from __future__ import annotations

import gc

from millrace.gateway.cli import keep_what_is_loaded


def test_what_is_loaded_is_not_searched_for_garbage_again():
    try:
        keep_what_is_loaded()
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < gc.get_freeze_count() / 10
    finally:
        gc.unfreeze()
