"""The numbers with which the README advertises stand in the pages that it links to."""

from __future__ import annotations

import re
from pathlib import Path

from benchmarks.picture import power_rows

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
REGIMES = re.findall(
    r"^\| [a-z ,0-9%]+ \|((?: -?[\d.]+ \|){14})$", (ROOT / "docs" / "protocol.md").read_text(), re.MULTILINE
)
IRBENCH_AA, SEQUENTIAL_AA = 1, 11


def test_the_simulated_false_differences_are_those_of_the_protocol():
    rows = [[float(cell) for cell in row.split("|")[:-1]] for row in REGIMES]
    assert len(rows) == 13
    loops = [100 * row[SEQUENTIAL_AA] for row in rows]
    highest = max(100 * row[IRBENCH_AA] for row in rows)
    assert f"in {min(loops):.0f} to {max(loops):.0f} % of simulated runs" in README
    assert f"in at most {highest:.1f} %" in README


def test_the_comparisons_on_real_work_are_those_of_the_page_on_accuracy():
    section = (ROOT / "docs" / "performance.md").read_text().partition("### Real work")[2]
    verdicts = re.findall(
        r"^\| (?:ort|openvino) \| 1\.00 \|.*?\| ([^|]*(?:same|faster)[^|]*) \|", section, re.MULTILINE
    )
    counted = [(int(count), verdict) for text in verdicts for count, verdict in re.findall(r"(\d+) (\w+)", text)]
    wrong = sum(count for count, verdict in counted if verdict in ("faster", "slower"))
    assert f"{wrong} of {sum(count for count, _ in counted)} comparisons reported a difference" in README


def test_the_differences_that_are_found_are_those_of_the_page_on_power():
    found = {row["faster by"]: row for row in power_rows()}
    assert f"3 % more work was found within 30 s in {found['3 %']['30 s']} of {found['3 %']['runs']} runs" in README
    assert f"2 % within 60 s in {found['2 %']['60 s']} of {found['2 %']['runs']}" in README
    assert {row["wrong"] for row in found.values()} == {"0"}


def test_the_time_of_the_run_is_that_of_the_table_in_the_tour():
    (seconds,) = re.findall(r"· (\d+) s · target reached", (ROOT / "docs" / "tour.md").read_text())
    assert f"fp32: {seconds} s." in README


def test_the_first_line_is_a_category_in_six_to_ten_words():
    assert 6 <= len(README.splitlines()[2].split()) <= 10


def test_the_version_of_tensorflow_is_the_required_one():
    (version,) = re.findall(r'"tensorflow>=(\d+\.\d+),', (ROOT / "pyproject.toml").read_text())
    assert f"TensorFlow must be {version}." in README
