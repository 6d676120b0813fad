"""Other calls join a cluster that is held up with files that overwrite nothing and go with it."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("distributed")
pytest.importorskip("asyncssh")

from irbench.errors import IrbenchError
from irbench.features.fleet.dask_process import Tls
from irbench.features.fleet.held_cluster import files_to_join
from irbench.features.fleet.targets import FleetFile, Target

_ADDRESS = "tls://10.0.0.1:8786"
_TLS = Tls("authority", "certificate", "secret")


@pytest.mark.parametrize(
    "target",
    [Target(name="a"), Target(name="a", host="h", price_per_hour=0.5, identity=Path("/keys/id"), pool="p")],
)
def test_the_file_of_targets_is_read_as_the_fleet_whether_or_not_all_is_known(tmp_path: Path, target: Target):
    from irbench.features.fleet.targets import read_targets

    output = tmp_path / "cluster.toml"
    with files_to_join(FleetFile((target,)), _ADDRESS, _TLS, output):
        fleet = read_targets(output)
        assert (fleet.targets, fleet.scheduler.address) == ((target,), _ADDRESS)
        assert fleet.tls is not None
        assert (fleet.tls.cert.read_text(), fleet.tls.key.read_text()) == ("certificate", "secret")
        assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("taken", ["server.toml", "server-key.pem", "server-cert.pem"])
def test_a_file_of_the_user_is_neither_overwritten_nor_removed(tmp_path: Path, taken: str):
    (tmp_path / taken).write_text("the user's")
    with (
        pytest.raises(IrbenchError, match=taken),
        files_to_join(FleetFile((Target(name="a"),)), _ADDRESS, _TLS, tmp_path / "server.toml"),
    ):
        pass
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [(taken, "the user's")]


def test_where_one_file_cannot_be_written_none_is_left(tmp_path: Path):
    too_long = tmp_path / f"a.{'x' * 300}"
    with pytest.raises(IrbenchError), files_to_join(FleetFile((Target(name="a"),)), _ADDRESS, _TLS, too_long):
        pass
    assert not list(tmp_path.iterdir())
