"""The formats of exports: listed, documented, chosen by name or by a file's name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from irbench.errors import IrbenchError
from irbench.render.columns import COLUMNS
from irbench.render.formats.export_formats import ARCHIVE, FORMATS, FormatName, format_called, format_for

DOCUMENT = (Path(__file__).parents[4] / "docs" / "exports.md").read_text()


def test_every_format_has_a_type_and_a_line_in_the_documentation():
    assert tuple(FORMATS) == get_args(FormatName)
    (table,) = re.findall(r"^\| format \| for \| needs \|\n.*\n((?:\|.*\n)+)", DOCUMENT, re.MULTILINE)
    documented = [name for line in table.splitlines() for name in re.findall(r"`([\w-]+)`", line.split("|")[1])]
    assert documented == [*FORMATS, ARCHIVE]


def test_every_ending_of_files_is_documented_and_that_of_one_format():
    endings = [ending for form in FORMATS.values() for ending in form.endings]
    assert sorted(endings) == sorted(set(endings))
    assert ".json" not in endings
    assert all(f"`{form.endings[0]}`" in DOCUMENT for form in FORMATS.values() if form.endings)


@pytest.mark.parametrize("form", FORMATS.values(), ids=lambda form: form.name)
def test_what_a_row_needs_to_have_a_place_are_columns(form):
    assert set(form.needs) <= set(COLUMNS)


@pytest.mark.parametrize(
    ("file", "name"), [("a.csv", "csv"), ("a.b.PARQUET", "parquet"), ("a.feather", "arrow"), ("a.prom", "openmetrics")]
)
def test_the_name_of_a_file_tells_its_format(file: str, name: str):
    found = format_for(Path(file))
    assert found is not None
    assert found.name == name


def test_a_name_that_no_format_has_is_answered_with_the_formats_that_there_are():
    with pytest.raises(IrbenchError, match=r"Unknown file format: .*x\.xlsx") as caught:
        format_for(Path("x.xlsx"))
    assert all(word in caught.value.hint for word in (".csv", ".parquet", ".tar.gz", "github-action-benchmark"))


def test_an_archive_tells_no_other_format_and_json_is_asked_about():
    assert format_for(Path("runs.tar.gz")) is None
    with pytest.raises(IrbenchError, match="Several formats are") as caught:
        format_for(Path("runs.json"))
    assert "pyperf, bencher" in caught.value.hint


def test_an_unknown_format_is_answered_with_the_nearest():
    with pytest.raises(IrbenchError, match="'benchr' is not a format") as caught:
        format_called("benchr")
    assert caught.value.hint.startswith("Did you mean bencher?")


def test_listing_formats_imports_no_writer_and_no_arrays():
    code = "import sys, irbench.render.formats.export_formats; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"numpy", "pyarrow", "rich", "msgspec", "irbench.runs.document_text"}
