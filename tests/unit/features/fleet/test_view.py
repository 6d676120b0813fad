"""What ``irbench fleet`` prints of its machines, in words and figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import get_args

import msgspec
from golden_files import check_golden

from irbench.core.record import Failure
from irbench.core.row import Spans
from irbench.core.serving_row import LoadLimit
from irbench.features.fleet.diagnosis import (
    BackendFound,
    DoctorAnswer,
    FleetDiagnosis,
    FoundByDoctor,
    PeaksFound,
    TargetDiagnosis,
)
from irbench.features.fleet.journal import TargetRecord
from irbench.features.fleet.messages import TargetFacts, Tuned
from irbench.features.fleet.problems import TargetProblem
from irbench.features.fleet.report import Fleet, FleetTable, MachineRow, price_per_million
from irbench.features.fleet.view import CONCLUSION_TEXTS
from irbench.features.tune.report import Conclusion, TunedSetting
from irbench.roofline import Bandwidth, ComputePeak
from irbench.terminal.console import to_text

INTERVAL = MachineRow(
    table="resnet50 batch=1",
    model="resnet50",
    row="ort",
    target="xeon",
    run="01A",
    p50=Spans(10.0, low=9.8, high=10.2),
    fps=Spans(100.0, low=98.0, high=102.0),
    cost_per_million=0.94,
    is_right=True,
    is_too_slow=False,
    price_per_hour=0.34,
)
RANGE = replace(
    INTERVAL,
    target="epyc",
    p50=Spans(10.5, range_low=10.1, range_high=11.0),
    fps=Spans(95.2, range_low=90.9, range_high=99.0),
    cost_per_million=0.95,
)
ONCE = replace(INTERVAL, target="arm", p50=Spans(12.0), fps=Spans(83.3), cost_per_million=1.1)
CLOSE = replace(INTERVAL, target="epyc", fps=Spans(101.0, low=99.0, high=103.0), cost_per_million=0.93)
FAILED = replace(
    INTERVAL,
    row="openvino",
    target="arm",
    p50=None,
    fps=None,
    cost_per_million=None,
    is_right=None,
    state="failed",
    failure=Failure("compile", "the process was killed by SIGSEGV", "see logs/openvino.log"),
)
WRONG = replace(
    INTERVAL, row="openvino", is_right=False, state="mismatch", failure=Failure("run", "an output has another shape")
)
CUT = TargetProblem(code="cut")
TARGETS = (
    TargetRecord(name="arm", pool="arm", processor="Neoverse", processors=4, price_per_hour=0.2),
    TargetRecord(name="epyc", pool="epyc", processor="EPYC", processors=8, price_per_hour=0.3, clock_ahead_s=90.0),
    TargetRecord(name="lost", pool="lost", problem=CUT),
    TargetRecord(name="xeon", pool="xeon", processor="Xeon", processors=2, price_per_hour=0.34),
)
TABLES = (
    *(FleetTable("resnet50 batch=1", name, name, "measured", "01A") for name in ("arm", "epyc", "xeon")),
    FleetTable("resnet50 batch=1", "lost", "", "no-target", problem="lost: the connection was cut"),
)
WHOLE = Fleet("night", 1, TARGETS, TABLES, (INTERVAL, RANGE, ONCE, WRONG, FAILED))
FLEETS = {
    "intervals, a range, a single launch, a row that failed and a wrong one": WHOLE,
    "ranges only": replace(WHOLE, rows=(RANGE, replace(RANGE, target="xeon"))),
    "intervals that overlap, of another confidence": replace(
        WHOLE, rows=tuple(replace(row, confidence=0.99) for row in (INTERVAL, CLOSE))
    ),
    "nothing measured": replace(WHOLE, tables=TABLES[-1:], rows=()),
}
FOUND = Tuned(
    conclusion="better",
    setting=TunedSetting("r", "ort+extended x2 batch 8", "ort", 8, 1, 2, 1, "fp32", optimize="extended"),
    is_confirmed=True,
    deciding_budget_s=None,
    search_run="01S",
)
DEFAULT = msgspec.structs.replace(
    FOUND,
    conclusion="undecided",
    setting=TunedSetting("d", "openvino", "openvino", 1, None, 1, 1, "fp32"),
    is_confirmed=False,
    deciding_budget_s=900.0,
)
TUNED = replace(
    WHOLE,
    name="tune-resnet50",
    tables=(
        *(replace(table, label="resnet50") for table in TABLES[:2]),
        replace(
            TABLES[2], label="resnet50", exit_code=3, tuned=msgspec.structs.replace(FOUND, setting=None), run="01N"
        ),
    ),
    rows=(
        replace(INTERVAL, table="resnet50", row="ort+extended x2", target="epyc", tuned=FOUND),
        replace(
            CLOSE,
            table="resnet50",
            row="openvino",
            target="arm",
            fps=Spans(60.0, low=59.0, high=61.0),
            tuned=DEFAULT,
            price_per_hour=0.2,
        ),
    ),
    command="tune",
    objective="fps",
)
SERVED = replace(
    WHOLE,
    name="serve-resnet50",
    rows=(
        replace(INTERVAL, p50=None, fps=None, cost_per_million=0.79, limit=LoadLimit("ort", 120.0, 130.0)),
        replace(
            CLOSE, p50=None, fps=None, cost_per_million=0.926, price_per_hour=0.3, limit=LoadLimit("ort", 90.0, None)
        ),
        replace(ONCE, p50=None, fps=None, cost_per_million=None, limit=LoadLimit("ort", None, 110.0)),
        FAILED,
    ),
    command="serve",
    objective="fps",
    level="p99<=50ms",
)
FACTS = TargetFacts(
    irbench_version="0.1.0",
    python="3.12.3",
    machine="1",
    processor="Xeon",
    processors=2,
    memory_bytes=8_000_000_000,
    distributions={},
    utc="",
)
DIAGNOSES = (
    TargetDiagnosis(
        name="xeon",
        facts=FACTS,
        clock_ahead_s=0.2,
        doctor=DoctorAnswer(
            "1 finding",
            (FoundByDoctor("busy-machine", "Other programs use 90 % of a processor.", "Close them."),),
            (BackendFound("ort", "1.23.0"), BackendFound("tf", problem="not installed")),
            PeaksFound(
                (
                    ComputePeak("fp32", 1, 61.0, 60.0, 62.0, "ort", 1024, 8, 0.95),
                    ComputePeak("fp32", 2, 118.0, 110.0, 121.0, "ort", 1024, 2),
                ),
                (
                    Bandwidth("L1d", 1, "read", 200.0, 190.0, 210.0, 32768, 32768, 0.95),
                    Bandwidth("memory", 2, "read", 21.0, 20.5, 21.4, 1 << 28, None, 0.95),
                ),
            ),
        ),
    ),
    TargetDiagnosis(
        name="old",
        facts=FACTS,
        problem=TargetProblem(code="irbench-version", there="0.0.9", needed="0.1.0"),
    ),
    TargetDiagnosis(name="lost", problem=CUT),
)


def test_fleets_read_as_in_the_golden_file():
    texts = [f"== {title}\n{to_text(fleet.__rich__())}" for title, fleet in FLEETS.items()]
    check_golden("fleet", "\n".join(texts))


def test_of_many_targets_those_with_a_problem_are_listed_first_and_the_others_counted():
    many = tuple(TargetRecord(name=f"t{number:02}", pool="p") for number in range(30))
    fleet = replace(WHOLE, targets=(*many[:-1], msgspec.structs.replace(many[-1], problem=CUT)))
    text = to_text(fleet.__rich__())
    listed = [target.name for target in many if target.name in text]
    assert listed == [*(target.name for target in many[:19]), "t29"]
    assert "and 10 other targets; --format json lists all of them" in text
    assert all(target.name in fleet.to_json() for target in many)


def _held_rates() -> Iterator[tuple[MachineRow, float]]:
    return zip(TUNED.rows, (120.0, 90.0), strict=True)


def test_a_search_on_each_machine_reads_as_in_the_golden_file():
    texts = {
        "one setting is the best": TUNED,
        "two may be": replace(TUNED, rows=(TUNED.rows[0], replace(TUNED.rows[1], fps=CLOSE.fps, price_per_hour=0.338))),
        "the latency was searched for": replace(TUNED, objective="latency"),
        "tokens are generated": replace(
            TUNED,
            rows=tuple(
                replace(row, tuned=msgspec.structs.replace(row.tuned, new_tokens=64)) for row in TUNED.rows if row.tuned
            ),
        ),
        "a service level was searched for": replace(
            TUNED,
            level="p99<=50ms",
            rows=tuple(
                replace(
                    row,
                    p50=None,
                    fps=None,
                    cost_per_million=price_per_million(row.price_per_hour or 0.0, 1 / rate),
                    limit=LoadLimit("ort", rate, 1.1 * rate),
                )
                for row, rate in _held_rates()
            ),
        ),
    }
    check_golden(
        "fleet-tune",
        "\n".join(f"== {title}\n{to_text(each.__rich__())}" for title, each in texts.items()),
    )


def test_rates_of_requests_read_as_in_the_golden_file():
    decided = replace(SERVED.rows[1], limit=LoadLimit("ort", 90.0, 95.0))
    unsure = replace(SERVED.rows[2], limit=LoadLimit("ort", None, 200.0))
    texts = {
        "a rate that never failed may be higher": SERVED,
        "one machine holds the most": replace(SERVED, rows=(SERVED.rows[0], decided)),
        "a machine may hold more, but passed at no rate": replace(SERVED, rows=(SERVED.rows[0], unsure)),
    }
    shown = [f"== {title}\n{to_text(fleet.__rich__())}" for title, fleet in texts.items()]
    check_golden("fleet-serve", "\n".join(shown))


def test_every_conclusion_of_a_search_has_words():
    assert set(CONCLUSION_TEXTS) == set(get_args(Conclusion))


def test_the_diagnosis_of_a_fleet_reads_as_in_the_golden_file():
    check_golden("fleet-doctor", to_text(FleetDiagnosis(DIAGNOSES).__rich__()))


def test_a_range_is_marked_beside_intervals_and_in_the_heading_where_there_is_nothing_else():
    mixed, ranges, intervals, _ = (to_text(fleet.__rich__()) for fleet in FLEETS.values())
    assert ("FPS [95 %]" in mixed, "[90.9, 99.0] range" in mixed) == (True, True)
    assert ("FPS [range]" in ranges, "] range" in ranges) == (True, False)
    assert ("FPS [99 %]" in intervals, "the intervals overlap" in intervals) == (True, True)
    assert "overlap" not in mixed
    assert "ort on epyc and ort on xeon have no interval" in ranges


def test_what_the_doctor_of_a_target_says_is_shown_with_what_helps_its_versions_and_its_peaks():
    text = to_text(FleetDiagnosis(DIAGNOSES).__rich__())
    for said in (
        "Close them.",
        "ort 1.23.0",
        "3.12.3",
        "61.0 [60.0, 62.0] GFLOP/s",
        "[110, 121] range GFLOP/s",
        "GB/s",
    ):
        assert said in text
    assert "L1d" not in text
