"""A misspelt function or module is refused without running any code; what only running it shows is let through."""

from __future__ import annotations

from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.exporter.build import validate
from irbench.exporter.source import Source, require_code
from irbench.options.export import ExportOptions

NET = """
raise RuntimeError("imported")
import helper as layers
from elsewhere import make

def build(): ...
def _private(): ...
class Net: ...
small = large = None
if True:
    def conditional(): ...
try:
    with open("x") as file:
        def nested(): ...
except OSError:
    fallback: object = None
def sets():
    global later
    later = build
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "irbench_test_nets/__init__.py", "")
    write(tmp_path / "irbench_test_nets/net.py", NET)
    write(tmp_path / "irbench_test_nets/bare/unpackaged.py", "def build(): ...")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def refusal(source: str, *imports: str) -> IrbenchError:
    error = refusal_of(source, *imports)
    assert error is not None
    return error


def refusal_of(source: str, *imports: str) -> IrbenchError | None:
    """Return why a source is refused before its code runs; None where only running it can tell."""
    try:
        require_code(Source(source), imports)
    except IrbenchError as error:
        return error
    return None


@pytest.mark.parametrize("source", ["irbench_test_nets.net:biuld", "irbench_test_nets/net.py:biuld"])
def test_a_misspelt_function_is_refused_with_the_nearest(source: str):
    error = refusal(source)
    assert error.message == f"{source.rpartition(':')[0]} has no function biuld."
    assert error.hint == "Did you mean build? It has: build, sets."


@pytest.mark.parametrize(
    "name",
    ["build", "_private", "Net", "small", "large", "conditional", "nested", "fallback", "later", "layers", "make"],
)
def test_every_name_that_the_text_defines_is_let_through(name: str):
    assert refusal_of(f"irbench_test_nets.net:{name}") is None


@pytest.mark.parametrize(
    "text",
    [
        "from elsewhere import *",
        "def __getattr__(name): ...",
        "globals()['build'] = print",
        "exec('def build(): ...')",
        "import sys\nsetattr(sys.modules[__name__], 'build', print)",
    ],
)
def test_a_module_that_defines_names_as_it_runs_is_let_through(text: str, project: Path):
    write(project / "irbench_test_dynamic.py", text)
    assert refusal_of("irbench_test_dynamic:build") is None
    assert refusal_of("irbench_test_dynamic.py:build") is None


def test_a_misspelt_module_is_refused_with_the_nearest(project: Path):
    error = refusal("irbench_test_nets.nte:build")
    assert error.message == "There is no module irbench_test_nets.nte."
    assert error.hint.startswith("Did you mean irbench_test_nets.net? ")
    assert str(project) in error.hint
    assert refusal("irbench_test_nest:build").hint.startswith("Did you mean irbench_test_nets? ")
    assert refusal("irbench_test_nest.net:build").hint.startswith("Did you mean irbench_test_nets? ")


@pytest.mark.parametrize("text", ["__path__.append('x')", "import sys\nsys.modules['net'] = None"])
def test_a_package_that_makes_modules_as_it_runs_is_let_through(text: str, project: Path):
    write(project / "irbench_test_magic/__init__.py", text)
    assert refusal_of("irbench_test_magic.anything:build") is None


def test_a_folder_without_init_is_searched_and_modules_of_the_environment_are_found():
    assert refusal_of("irbench_test_nets.bare.unpackaged:build", "json", "xml.dom") is None
    assert "biuld" in refusal("irbench_test_nets.bare.unpackaged:biuld").message


def test_a_syntax_error_is_named_with_its_line(project: Path):
    write(project / "irbench_test_broken.py", "x = 1\ndef build(:\n")
    error = refusal("irbench_test_broken:build")
    assert "irbench_test_broken cannot be imported" in error.message
    assert f"line 2 of {project / 'irbench_test_broken.py'}" in error.message


def test_modules_that_are_built_into_python_are_there():
    assert refusal_of("net.keras", "sys", "itertools") is None


@pytest.mark.parametrize("module", ["irbench_test_nest", "irbench_test_nets.nte", "none.py"])
def test_a_module_to_import_is_looked_for_too(module: str):
    assert (
        f"There is no {'file' if module.endswith('.py') else 'module'} {module}" in refusal("resnet50", module).message
    )


def test_an_export_asks_for_it_before_any_work():
    with pytest.raises(IrbenchError, match="has no function biuld"):
        validate("irbench_test_nets.net:biuld", ExportOptions())


MAKERS = """
raise RuntimeError("imported")
def small(): ...
def _private(): ...
def sized(size=8, *rest, depth=2, **more): ...
def of_input(x): ...
def of_name(*, name): ...
def of_place(x, /, y=1): ...
class Net: ...
async def waits(): ...
def main(): ...
"""


@pytest.mark.parametrize("named", ["my nets.py", "./my nets.py", "my nets.py:", "my nets"])
def test_a_file_without_a_function_is_refused_with_those_that_may_make_a_model(project: Path, named: str):
    write(project / "my nets.py", MAKERS)
    with pytest.raises(IrbenchError, match="alone does not say which function") as caught:
        validate(named, ExportOptions())
    file = named.removesuffix(":").removesuffix(".py") + ".py"
    assert caught.value.hint == f"Name it: '{file}:small', '{file}:sized', '{file}:main'"


def test_of_many_functions_the_first_are_named(project: Path):
    write(project / "many.py", "\n".join(f"def make_{number}(): ..." for number in range(20)))
    with pytest.raises(IrbenchError) as caught:
        validate("many.py", ExportOptions())
    assert caught.value.hint.startswith("Name it: many.py:make_0, many.py:make_1, ")
    assert caught.value.hint.endswith("many.py:make_7, ...")


@pytest.mark.parametrize(
    ("text", "said"), [("def f(x): ...", "has no function that"), ("def f(:", "cannot be imported")]
)
def test_a_file_that_has_none_is_refused_as_well(project: Path, text: str, said: str):
    write(project / "none.py", text)
    with pytest.raises(IrbenchError, match=said) as caught:
        validate("none.py", ExportOptions())
    assert caught.value.hint
