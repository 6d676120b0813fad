"""A uv that knows the releases of the fake runtime alone, called as irbench calls uv; it needs no network.

``FAKE_RELEASES`` names a JSON file: the script of each version, or null for one that cannot be installed. What it is
called with is appended to ``calls`` beside that file.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from fake_environments import RUNTIME, add_runtime, make_environment

if TYPE_CHECKING:
    import pytest

INDEX = "https://packages.test/simple"
"""Where it says that the releases come from."""
PINNED_CONFLICT = "pinned"
"""Key of a script whose version cannot be installed together with pinned requirements."""


def install(folder: Path, releases: Mapping[str, Mapping[str, str] | None], patch: pytest.MonkeyPatch) -> Path:
    """Put this uv first on the path, and return the file that its calls are written to."""
    program = folder / "bin" / "uv"
    program.parent.mkdir(parents=True)
    program.write_text(
        f"#!{sys.executable} -P\nimport sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from fake_uv import main; main()\n"
    )
    program.chmod(0o755)
    known = folder / "releases.json"
    known.write_text(json.dumps(releases))
    patch.setenv("FAKE_RELEASES", str(known))
    patch.setenv("PATH", os.pathsep.join([str(program.parent), os.environ["PATH"]]))
    return folder / "calls"


def main() -> None:
    """Do what uv would."""
    known = Path(os.environ["FAKE_RELEASES"])
    asked = sys.stdin.read().split("\n")
    with known.with_name("calls").open("a") as calls:
        calls.write(f"{' '.join(sys.argv[1:])} < {' '.join(asked)}\n")
    releases: dict[str, dict[str, str] | None] = json.loads(known.read_text())
    words = [word for word in sys.argv[1:] if word not in ("--quiet", "--color", "never")]
    match words:
        case ["venv", *_, folder]:
            make_environment(Path(folder), None)
        case ["pip", "install", "--python", python, "--only-binary", _, "--require-hashes", "-r", requirements]:
            _install(Path(python), Path(requirements).read_text().split()[0], releases)
        case ["pip", "compile", "-", *options] if "--generate-hashes" in options:
            _require_solvable(*asked, releases=releases)
            sys.stdout.write(f"{asked[0]} \\\n    --hash=sha256:{'0' * 64}\n    # from {INDEX}\n")
        case ["pip", "compile", "-", *_]:
            sys.stdout.write(f"{RUNTIME}=={_newest(asked[0].strip(), releases)}\n")
        case _:
            _fail(f"no such command: {words}", code=2)


def _require_solvable(requirement: str, *others: str, releases: Mapping[str, Any]) -> None:
    name, _, version = requirement.partition("==")
    script = releases.get(version)
    if name != RUNTIME or script is None:
        _fail(f"No solution found when resolving dependencies\n  cause: {requirement} has no wheel")
    if PINNED_CONFLICT in script and any("==" in other for other in others):
        _fail("No solution found when resolving dependencies\n  cause: the versions conflict")


def _install(python: Path, requirement: str, releases: Mapping[str, Any]) -> None:
    version = requirement.partition("==")[2]
    script = releases[version]
    (packages,) = python.parent.parent.glob("lib/*/site-packages")
    add_runtime(packages, version, {key: value for key, value in script.items() if key != PINNED_CONFLICT})


def _newest(asked: str, releases: Mapping[str, Any]) -> str:
    name = re.split(r"[<>=]", asked)[0]
    bounds = re.findall(r"(<=|<|>=|==)([0-9.]+)", asked)
    fitting = [version for version in releases if all(_fits(version, *bound) for bound in bounds)]
    if name != RUNTIME or not fitting:
        _fail(f"No solution found when resolving dependencies\n  cause: there is no version of {asked}")
    return max(fitting, key=_numbers)


def _fits(version: str, relation: str, bound: str) -> bool:
    own, other = _numbers(version), _numbers(bound)
    return {"<=": own <= other, "<": own < other, ">=": own >= other, "==": own == other}[relation]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple([*map(int, version.split(".")), 0, 0, 0][:3])


def _fail(reason: str, code: int = 1) -> NoReturn:
    sys.stderr.write(f"error: {reason}\n")
    sys.exit(code)
