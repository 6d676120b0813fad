"""Runs of several machines are exported there, imported here, and compared on one site."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from compared_runs import MACHINE, store, times
from front_door import irbench

pytestmark = pytest.mark.ci

MACHINES = {name: {**MACHINE, "cpu": {**MACHINE["cpu"], "Model name": name}} for name in ("Fast", "Slow")}


def test_runs_of_two_machines_meet_on_one_site(tmp_path: Path):
    archives: list[Path] = []
    for factor, (name, environment) in enumerate(MACHINES.items(), 1):
        own = tmp_path / name
        store(own, {"ort": times(factor), "openvino": times(factor)}, environment=environment, graph="1" * 64)
        archives.append(tmp_path / f"{name}.tar.gz")
        assert irbench("results", "export", "--all", "-o", archives[-1], "--results", own).code == 0
    collected, site = tmp_path / "collected", tmp_path / "site"
    assert irbench("results", "import", *archives, "--results", collected).code == 0
    called = irbench("report", "--site", site, "--results", collected)
    assert called.code == 0, called.err

    index = (site / "index.html").read_text()
    assert "Fast, 2 processors" in index
    assert "Slow, 2 processors" in index
    assert len(re.findall(r'<tr class="(?:faster|slower)">', index)) == 2
    with (site / "rows.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert len(list(site.glob("run-*.tar.gz"))) == 2


def test_the_projects_own_runs_make_a_site(tmp_path: Path):
    reference = Path(__file__).parents[2] / "results" / "reference" / "runs"
    archives = sorted(reference.glob("*.tar.gz"))
    assert sum(archive.stat().st_size for archive in archives) < 2_000_000
    assert irbench("results", "import", *archives, "--results", tmp_path / "results").code == 0
    called = irbench("report", "--site", tmp_path / "site", "--results", tmp_path / "results")
    assert called.code == 0, called.err
    runs = list((tmp_path / "results" / "runs").glob("*/*/run.json"))
    assert len(runs) >= len(archives)
    assert {page.stem.removeprefix("run-") for page in (tmp_path / "site").glob("run-*.html")} == {
        run.parent.name for run in runs
    }
