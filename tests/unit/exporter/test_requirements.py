from dataclasses import replace
from functools import cache

import pytest

from irbench.core import registry
from irbench.errors import ExitCode, IrbenchError
from irbench.exporter import identity
from irbench.exporter.build import validate
from irbench.exporter.identity import missing_distributions, require_distributions
from irbench.exporter.source import Source
from irbench.options.export import ExportOptions

ABSENT = "irbench-is-built-with-no-such-thing"


@pytest.fixture
def resnet50_requires(monkeypatch: pytest.MonkeyPatch):
    """Have the zoo say that resnet50 is built with other distributions."""
    source = registry.model("resnet50")

    def require(*distributions: str) -> None:
        monkeypatch.setattr(registry, "model", cache(lambda _: replace(source, requires=distributions)))

    return require


def test_a_model_that_is_built_with_something_missing_is_refused_with_the_command_that_installs_it(resnet50_requires):
    resnet50_requires("numpy", ABSENT)
    with pytest.raises(IrbenchError, match=f"resnet50 is built with {ABSENT}, which is not installed") as caught:
        validate("resnet50", ExportOptions())
    assert caught.value.hint == f"Install it: pip install {ABSENT}"
    assert caught.value.exit_code == ExitCode.NOT_INSTALLED


def test_what_is_installed_is_not_missing(resnet50_requires):
    resnet50_requires("numpy")
    assert missing_distributions("resnet50") == ()
    require_distributions(Source("resnet50"))


def test_a_file_requires_nothing(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(identity, "missing_distributions", asked.append)
    require_distributions(Source(str(tmp_path / "resnet50.keras")))
    assert asked == []
