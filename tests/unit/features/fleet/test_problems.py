"""A target measures only with the versions that are asked for, and a problem is said with how to fix it."""

from __future__ import annotations

import string
from typing import Any, get_args

import pytest

pytest.importorskip("distributed")

from importlib import metadata

import msgspec

from irbench import __version__
from irbench.features.fleet.messages import TargetFacts
from irbench.features.fleet.problems import Code, TargetProblem, problem_of_target
from irbench.features.fleet.targets import FleetFile


def problem(requires: dict[str, str], **changes: Any) -> TargetProblem | None:
    facts = TargetFacts(
        irbench_version=__version__,
        python="3.12",
        machine="m",
        processor="p",
        processors=1,
        memory_bytes=1,
        distributions={"distributed": metadata.version("distributed"), "Ruamel_YAML.clib": "1.2"},
        utc="",
    )
    facts = msgspec.structs.replace(facts, **changes)
    return problem_of_target(facts, FleetFile(requires=requires), {}, measures=True)


@pytest.mark.parametrize("name", ["Ruamel_YAML.clib", "ruamel-yaml-clib", "RUAMEL.yaml--clib"])
def test_a_distribution_is_found_however_its_name_is_written(name: str):
    assert problem({name: "==1.2"}) is None
    found = problem({name: "==1.3"})
    assert (found and found.code) == "distribution-version"


def test_a_distribution_that_is_not_there_is_named():
    found = problem({"numpy": ">1"})
    assert found is not None
    assert (found.code, found.subject) == ("distribution-missing", "numpy")


def test_an_irbench_of_another_version_is_refused_with_both_versions():
    found = problem({}, irbench_version="0.0.9")
    assert found is not None
    assert "0.0.9" in found.text()
    assert __version__ in found.text()
    assert __version__ in found.remedy()


def test_every_problem_is_said_with_how_to_fix_it_whatever_a_target_says():
    for code in get_args(Code):
        found = TargetProblem(code=code, subject="{there}", said="a\nb\x1b[31m")
        for text in (found.text(), found.remedy()):
            assert text
            assert text.isprintable()
            assert not any(name for _, name, _, _ in string.Formatter().parse(text.replace("{there}", "")) if name)


@pytest.mark.parametrize(("port", "known_as"), [(22, "'h'"), (2222, "'[h]:2222'")])
def test_a_changed_host_key_is_compared_before_it_is_removed_from_the_file_that_has_it(port: int, known_as: str):
    changed = TargetProblem(code="changed-host-key", subject="~/mine", host="me@h", port=port)
    unknown = TargetProblem(code="unknown-host-key", subject="~/mine", host="me@h", port=port)
    scan = f"ssh-keyscan -p {port} h"
    assert changed.text() != unknown.text()
    assert f"if {scan} | ssh-keygen -lf - prints" in changed.remedy()
    assert changed.remedy().endswith(f"ssh-keygen -R {known_as} -f ~/mine && {scan} >> ~/mine")
    assert unknown.remedy().startswith("compare what")
    assert unknown.remedy().endswith(f"{scan} >> ~/mine")
