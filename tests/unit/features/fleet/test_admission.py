"""A target measures only with the versions that are asked for."""

from __future__ import annotations

import pytest

pytest.importorskip("distributed")

from importlib import metadata

from irbench import __version__
from irbench.features.fleet.admission import problem_of_target
from irbench.features.fleet.cluster import Member
from irbench.features.fleet.messages import TargetFacts
from irbench.features.fleet.targets import FleetFile


def problem(requires: dict[str, str]) -> str:
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
    return problem_of_target(facts, Member("a", "tls://a:1", measures=True), FleetFile(requires=requires), {})


@pytest.mark.parametrize("name", ["Ruamel_YAML.clib", "ruamel-yaml-clib", "RUAMEL.yaml--clib"])
def test_a_distribution_is_found_however_its_name_is_written(name: str):
    assert not problem({name: "==1.2"})
    assert problem({name: "==1.3"})


def test_a_distribution_that_is_not_there_is_named():
    assert "numpy" in problem({"numpy": ">1"})
