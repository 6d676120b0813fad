"""Released versions between two, from a uv that is asked for the newest one again and again."""

from __future__ import annotations

from pathlib import Path

import fake_uv
import pytest
from fake_environments import RUNTIME

from irbench.environments.sources import releases_between
from irbench.errors import IrbenchError

RELEASES = {"1.8.0": {}, "1.9.0": {}, "1.10.0": {}, "1.10.1": {}, "2.0.0": {}}


@pytest.fixture(autouse=True)
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_uv.install(tmp_path, RELEASES, monkeypatch)


def test_both_ends_are_included_and_the_oldest_comes_first() -> None:
    assert releases_between(RUNTIME, "1.9.0", "1.10.1") == ("1.9.0", "1.10.0", "1.10.1")


def test_an_end_may_leave_out_its_zeros_or_lie_between_releases() -> None:
    assert releases_between(RUNTIME, "1.9", "1.10") == ("1.9.0", "1.10.0")
    assert releases_between(RUNTIME, "1.8.5", "1.99") == ("1.9.0", "1.10.0", "1.10.1")


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [
        ("1.10", "1.9", "There is no release of irbench-fake-runtime from 1.10 to 1.9"),
        ("3.0", "4.0", "There is no release"),
        ("1.9.0", "1.9.5", r"There is one release of irbench-fake-runtime from 1\.9\.0 to 1\.9\.5: 1\.9\.0"),
    ],
)
def test_fewer_than_two_are_refused(first: str, last: str, said: str) -> None:
    with pytest.raises(IrbenchError, match=said):
        releases_between(RUNTIME, first, last)


def test_an_unknown_runtime_is_refused() -> None:
    with pytest.raises(IrbenchError, match="There is no release of nonsense") as caught:
        releases_between("nonsense", "1.0", "2.0")
    assert "Check the name" in caught.value.hint
