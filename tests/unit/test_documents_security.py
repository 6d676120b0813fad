"""docs/security.md names every kind of file that may come from elsewhere, and the limits as they are."""

from __future__ import annotations

import re
from pathlib import Path

from structural_fuzz.cases import KINDS

from irbench.store import archives
from irbench.system import confinement
from irbench.worker import requested_confinement
from irbench.worker.shown_variables import shown_variables

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text()


def table_below(heading: str) -> list[list[str]]:
    """Return the rows of the first table below a heading, without its head."""
    section = TEXT.partition(f"{heading}\n")[2]
    (rows, *_) = re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE)
    return [[cell.strip() for cell in row.strip("|\n").split("|")] for row in rows.splitlines()[2:]]


def test_every_kind_of_file_that_is_fuzzed_is_named_as_not_trusted_and_every_one_that_is_named_is_fuzzed() -> None:
    named = [row[0] for row in table_below("## What is not trusted")]
    assert sorted(named) == sorted([*KINDS, "TensorFlow graph"])  # these have tests/integration/test_hostile_graphs.py
    assert "each kind in the table above but TensorFlow graphs" in TEXT


def test_every_test_that_is_named_is_there() -> None:
    named = re.findall(r"tests/[\w/]+\.py", TEXT)
    assert "tests/integration/test_hostile_graphs.py" in named
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_who_is_confined_is_said() -> None:
    confined = {row[0].partition(" ")[0]: row[1] for row in table_below("### Confinement")}
    assert confined["reads"] == "always"
    assert confined["runs"] == f"with `{requested_confinement.VARIABLE}=1`"


def test_what_a_confined_runtime_reaches_of_the_machine_is_said_and_no_more() -> None:
    reach = {row[0].strip("`"): row[1] for row in table_below("and a process that reads an ONNX file less:\n")}
    paths = (
        *confinement.OF_THE_SYSTEM,
        *confinement.KERNEL_FILES,
        *confinement.CONFIGURATION,
        *confinement.DEVICES,
    )
    for folder in ("/etc", "/proc", "/sys", "/dev"):
        given = {path.removeprefix(f"{folder}/") for path in paths if path.startswith(f"{folder}/")} - {"self"}
        said = set(re.findall(r"`([^`]+)`", reach[folder]))
        assert said - {"null"} == given


def test_the_names_of_secrets_are_said() -> None:
    for name in ("HF_TOKEN", "TF_SECRET", "OMP_PASSWORD", "NVIDIA_API_KEY", "ORT_CREDENTIALS", "KERAS_AUTH"):
        assert shown_variables({name: "x"}) == {}
    assert shown_variables({"OMP_NUM_THREADS": "2", "PATH": "/bin"}) == {"OMP_NUM_THREADS": "2", "PATH": "/bin"}


def test_the_limits_of_archives_are_those_of_the_code() -> None:
    files, runs, unpacked, ratio = (row[1] for row in table_below("### Processes and limits"))
    assert files == f"{archives.MOST_FILES:,}"
    assert runs == f"{archives.MOST_RUNS:,}"
    assert unpacked == f"{archives.MOST_BYTES >> 30} GiB"
    free = archives.FREE_BYTES >> 20
    assert ratio == f"{archives.MOST_RATIO} times, of which {free} MiB are always allowed"


def test_the_readme_and_the_way_to_report_lead_to_it() -> None:
    assert "docs/security.md" in (ROOT / "README.md").read_text()
    assert "docs/security.md" in (ROOT / "SECURITY.md").read_text()
    assert "SECURITY.md" in TEXT
