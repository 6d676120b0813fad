"""What is public is named once, is there, costs nothing before it is used, and is documented."""

from __future__ import annotations

import dataclasses
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import irbench

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "reference" / "python-api.md").read_text()


def test_every_public_name_is_documented_and_every_documented_name_is_public():
    described = re.findall(r"^### irbench\.(\w+)$", DOCUMENT, re.MULTILINE)
    keywords = re.findall(r"^\| `(\w+Keywords)` \|", DOCUMENT, re.MULTILINE)
    assert sorted([*described, *keywords, "__version__"]) == sorted(irbench.__all__)


def test_every_public_name_is_there_and_says_what_it_is():
    found = {name: getattr(irbench, name) for name in irbench.__all__ if name != "__version__"}
    assert [name for name, one in found.items() if (one.__doc__ or "") in ("", _generated(one))] == []


def _generated(found: object) -> str:
    """Return the docstring that a dataclass has where none was written."""
    return f"{getattr(found, '__name__', '')}{inspect.signature(found)}" if dataclasses.is_dataclass(found) else ""  # type: ignore[arg-type]


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'ruin'"):
        irbench.ruin  # type: ignore[attr-defined] # noqa: B018


def test_no_module_replaces_a_public_function():
    modules = {module.name for module in pkgutil.iter_modules(irbench.__path__)}
    assert modules.isdisjoint(irbench.__all__)


def test_importing_irbench_imports_none_of_it():
    code = "import sys; before = set(sys.modules); import irbench; print(*sorted(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {"irbench", "__future__"}


def test_options_of_a_run_need_no_arrays():
    code = "import sys; import irbench; irbench.RunKeywords, irbench.models; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
