from __future__ import annotations

from millrace.lake.core.tally import Tally, rule_key, stage_key


def test_batches_add_up_by_stage_and_by_rule() -> None:
    tally = Tally()
    tally.add({stage_key("decode"): 2, stage_key("type"): 0, rule_key("hot"): 1})
    tally.add({stage_key("decode"): 1, rule_key("hot"): 4, rule_key("cold"): 0})
    assert tally.refused() == {"decode": 3}
    assert tally.broken() == {"hot": 5}


def test_how_long_the_last_batch_took_is_known_once_there_was_one() -> None:
    tally = Tally()
    assert tally.readable_after_s is None
    tally.on_readable(2.34567)
    assert tally.readable_after_s == 2.346
    tally.on_readable(-5)
    assert tally.readable_after_s == 0, "a broker's clock ahead of ours"


def test_nothing_found_is_nothing_to_tell() -> None:
    assert (Tally().refused(), Tally().broken()) == ({}, {})
