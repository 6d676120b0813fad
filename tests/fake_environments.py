"""Python environments that have a version of the fake runtime; the scripted uv makes them too, so it imports little."""

from __future__ import annotations

import json
import shutil
import sys
import sysconfig
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

RUNTIME = "irbench-fake-runtime"
TESTS = Path(__file__).parent
_LACKING = """
import sys

class Lacking:
    names = ("click", "msgspec", "platformdirs", "pydantic", "rich", "tomli_w")

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.names:
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Lacking())
"""
"""Takes from an environment what irbench requires and its workers do not need; the scripted backends need psutil."""


def make_environment(folder: Path, version: str | None, script: Mapping[str, str] | None = None) -> Path:
    """Make an environment with a version of the fake runtime, and return its interpreter.

    Args:
        folder: Where it is made.
        version: Of the runtime; ``None`` for an environment without it.
        script: What the runtime does, as options of the scripted backend.
    """
    packages = folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    packages.mkdir(parents=True)
    (folder / "bin").mkdir()
    base = shutil.which("python3", path=sysconfig.get_config_var("BINDIR")) or sys._base_executable  # type: ignore[attr-defined]
    (folder / "bin" / "python").symlink_to(base)
    (folder / "pyvenv.cfg").write_text(f"home = {Path(base).parent}\ninclude-system-site-packages = false\n")
    # what workers need is that of this environment
    (packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in (*_site_packages(), TESTS)))
    (packages / "sitecustomize.py").write_text(_LACKING)
    if version is not None:
        add_runtime(packages, version, script or {})
    return folder / "bin" / "python"


def add_runtime(packages: Path, version: str, script: Mapping[str, str]) -> None:
    """Install a version of the fake runtime into a folder of packages."""
    about = packages / f"irbench_fake_runtime-{version}.dist-info"
    about.mkdir()
    summary = json.dumps(dict(script))
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {RUNTIME}\nVersion: {version}\nSummary: {summary}\n")


def _site_packages() -> list[str]:
    """Return the folders that hold what irbench requires here."""
    folders = {str(metadata.distribution(name).locate_file("")) for name in ("numpy", "onnx", "msgspec", "psutil")}
    return sorted(str(Path(folder).absolute()) for folder in folders)
