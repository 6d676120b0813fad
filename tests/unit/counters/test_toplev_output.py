"""What toplev writes with ``-x,``."""

from __future__ import annotations

import fake_perf
import pytest

from irbench.counters.perf_output import read_toplev


def test_nodes_are_shares_of_slots_and_metrics_are_left_out():
    assert read_toplev(fake_perf.TOPLEV) == pytest.approx(
        {"Frontend_Bound": 0.292, "Frontend_Bound.Fetch_Latency": 0.125, "Backend_Bound.Memory_Bound": 0.31}
    )


def test_a_file_for_one_thread_has_no_column_of_processors():
    text = "Area,Value,Unit,Description\nRetiring,40.5,% Slots <,\n"
    assert read_toplev(text) == pytest.approx({"Retiring": 0.405})


def test_processors_that_are_told_apart_are_averaged():
    text = "CPUs,Area,Value,Unit\nC0,Retiring,40,% Slots\nC1,Retiring,20,% Slots\n"
    assert read_toplev(text) == pytest.approx({"Retiring": 0.3})


@pytest.mark.parametrize("text", ["", "# toplev\n", "Area,Value,Unit\nRetiring,,% Slots\n", "Retiring,1,% Slots\n"])
def test_what_holds_no_numbers_gives_none(text: str):
    assert read_toplev(text) == {}
