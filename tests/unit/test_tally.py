from __future__ import annotations

from millrace.core.tally import Tally, rule_key, stage_key


def test_batches_add_up_by_stage_and_by_rule() -> None:
    tally = Tally()
    tally.add({stage_key("decode"): 2, stage_key("type"): 0, rule_key("hot"): 1})
    tally.add({stage_key("decode"): 1, rule_key("hot"): 4, rule_key("cold"): 0})
    assert tally.refused() == {"decode": 3}
    assert tally.broken() == {"hot": 5}


def test_nothing_found_is_nothing_to_tell() -> None:
    assert (Tally().refused(), Tally().broken()) == ({}, {})
