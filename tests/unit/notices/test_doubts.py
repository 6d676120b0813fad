"""What a doubt says where a table has little to say it of."""

from __future__ import annotations

from irbench.notices import Context
from irbench.notices.doubts import Regime, RegimeChange


def test_a_table_of_one_row_has_states_without_speedups():
    alone = RegimeChange(near=Regime(53.0, 40, ()), far=Regime(330.0, 24, ()))
    assert "53 ns, 40 blocks" in alone.detail(Context(names={}))
