"""The commands that install, for each way in which irbench may have been installed itself."""

from __future__ import annotations

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from subprocess import run

import pytest

from irbench import __version__
from irbench.errors import ExitCode, IrbenchError
from irbench.spi import extra_command, install_command
from irbench.system import installation
from irbench.system.installation import (
    DISTRIBUTION,
    Origin,
    elsewhere_command,
    origin,
    origin_recorded,
    pip_command,
    pip_command_of,
    require_libraries,
    upgrade_hint,
)

ROOT = Path(__file__).parents[3]
REQUIREMENTS = [
    "numpy>=2.1",
    "onnx-ir>=1.1; extra == 'optimize'",
    "onnxruntime>=1.22; extra == 'all'",
    "tensorflow[and-cuda]<2.22,>=2.21; (sys_platform == 'linux') and extra == 'all-gpu'",
    "tensorflow<2.22,>=2.21; extra == 'tensorflow'",
]
COMMIT = "4" * 40
REPOSITORY = Origin("repository", "git+https://host/irbench.git", "main", COMMIT)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "a clone"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    return folder


@pytest.mark.parametrize(
    ("names", "command"),
    [
        (("onnxruntime",), "pip install 'onnxruntime>=1.22'"),
        (("tensorflow", "onnx_ir"), "pip install 'tensorflow<2.22,>=2.21' 'onnx_ir>=1.1'"),
        (("else",), "pip install else"),
    ],
)
def test_versions_are_those_of_irbenchs_extras(
    names: tuple[str, ...], command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda _name: REQUIREMENTS)
    assert install_command(*names) == command


def test_without_metadata_the_names_remain(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", missing)
    assert install_command("onnxruntime") == "pip install onnxruntime"


def test_this_copy_is_the_clone_that_make_setup_installed() -> None:
    assert origin() == Origin("editable", str(ROOT))


def test_a_clone_that_was_never_installed_is_known_by_its_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    assert origin() == Origin("editable", str(ROOT))


def test_a_clone_is_read_from_what_the_installer_recorded(clone: Path) -> None:
    recorded = {"url": clone.as_uri(), "dir_info": {}}
    assert origin_recorded(json.dumps(recorded)) == Origin("folder", str(clone))
    assert origin_recorded(json.dumps({**recorded, "dir_info": {"editable": True}})) == Origin("editable", str(clone))
    (clone / "pyproject.toml").unlink()
    assert origin_recorded(json.dumps(recorded)) == Origin("archive")


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        (None, Origin("index")),
        ({"url": "file:///w/irbench_onnx-0.1.0-py3-none-any.whl", "archive_info": {}}, Origin("archive")),
        (
            {
                "url": "https://host/irbench.git",
                "vcs_info": {"vcs": "git", "requested_revision": "main", "commit_id": COMMIT},
            },
            REPOSITORY,
        ),
    ],
)
def test_what_is_no_clone_is_read_too(recorded: dict[str, object] | None, found: Origin) -> None:
    assert origin_recorded(None if recorded is None else json.dumps(recorded)) == found


@pytest.mark.parametrize(
    ("installed", "extra", "upgrade", "elsewhere"),
    [
        (
            Origin("editable", "/my clone"),
            "pip install -e '/my clone[ort]'",
            "Upgrade irbench: git -C '/my clone' pull && pip install -e '/my clone'",
            "",
        ),
        (
            Origin("folder", "/clone"),
            "pip install '/clone[ort]'",
            "Upgrade irbench: git -C /clone pull && pip install /clone",
            "",
        ),
        (
            REPOSITORY,
            f"pip install 'irbench-onnx[ort] @ git+https://host/irbench.git@{COMMIT}'",
            (
                "Upgrade irbench: pip install --force-reinstall --no-deps"
                " 'irbench-onnx @ git+https://host/irbench.git@main'"
            ),
            f"pip install 'irbench-onnx[ort] @ git+https://host/irbench.git@{COMMIT}'",
        ),
        (
            Origin("archive"),
            "pip install 'irbench-onnx[ort]'",
            "Upgrade irbench from a newer wheel: pip install --upgrade WHEEL",
            "",
        ),
        (
            Origin("index"),
            "pip install 'irbench-onnx[ort]'",
            "Upgrade irbench: pip install --upgrade irbench-onnx",
            "pip install 'irbench-onnx[ort]==0.1.0'",
        ),
    ],
    ids=lambda value: value.kind if isinstance(value, Origin) else "",
)
def test_extras_upgrades_and_copies_elsewhere_follow_how_irbench_was_installed(
    installed: Origin, extra: str, upgrade: str, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "origin", lambda: installed)
    assert extra_command("ort") == extra
    assert upgrade_hint() == upgrade
    assert elsewhere_command("0.1.0", "ort") == elsewhere


def test_a_repository_on_this_machine_is_of_no_use_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "origin", lambda: Origin("repository", "git+file:///clone", "", COMMIT))
    assert elsewhere_command("0.1.0") == ""


def test_pip_is_named_by_its_path_where_a_shell_finds_that_of_another_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pip_command("install", "x") == "pip install x"
    other = tmp_path / "pip"
    other.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert pip_command("install", "x") == f"{sys.executable} -m pip install x"


def test_uv_installs_where_an_environment_has_no_pip() -> None:
    assert pip_command_of("/e/python", "install", "x", has_pip=False) == "uv pip install --python /e/python x"


def test_a_missing_library_is_refused_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    require_libraries(("json",), "json is missing.")
    with pytest.raises(IrbenchError, match="It is missing") as caught:
        require_libraries(("no_such_library",), "It is missing.")
    assert caught.value.hint == "Install it with: pip install no_such_library"
    assert caught.value.exit_code == ExitCode.NOT_INSTALLED
    with pytest.raises(IrbenchError) as caught:
        require_libraries(("no_such_library", "nor_this"), "They are missing.", "report")
    assert caught.value.hint == f"Install them with: {extra_command('report')}"


def test_the_distribution_is_that_of_the_project_in_the_version_of_the_package() -> None:
    assert metadata.version(DISTRIBUTION) == __version__


# Texts: on the package index, `irbench` is a project of somebody else.
_INSTALLER = re.compile(
    r"\b(?:pip3?|pipx|uvx?|conda|mamba|poetry|pdm|easy_install)\b[^\n`;|&#,]*?"
    r"[\s'\"(]irbench(?=\[|['\"`\s)]*(?:$|[=<>~!@.;&|#`'\")]))",
    re.MULTILINE,
)
_EXTRA = re.compile(r"(?<![\w./\-\]}])irbench\[[a-z]")
_REQUIRED = re.compile(r"""dependencies\s*=\s*\[[^\]]*["']irbench(?![\w-])""")


def names_irbench_to_an_installer(text: str) -> list[str]:
    """Return where a text has an installer fetch the other project, or a requirement names it."""
    return [match[0] for pattern in (_INSTALLER, _EXTRA, _REQUIRED) for match in pattern.finditer(text)]


@pytest.mark.parametrize(
    "text",
    [
        "pip install irbench",
        "    .venv/bin/pip install -U irbench",
        "python -m pip uninstall -y irbench",
        "run: pip install 'irbench[ort]'",
        "uv pip install irbench==0.1.0",
        "pipx install irbench",
        "uvx irbench",
        "see `pip install irbench`.",
        "needs ``irbench[fleet]``",
        'dependencies = ["irbench", "numpy"]',
        'hint="Update irbench: pip install --upgrade irbench",',
    ],
)
def test_the_search_finds_what_would_fetch_the_other_project(text: str) -> None:
    assert names_irbench_to_an_installer(text)


@pytest.mark.parametrize(
    "text",
    [
        "pip install '.[ort]'",
        "pip install './irbench[ort]'",
        "RUN pip install --no-cache-dir '/irbench[ort,openvino]'",
        "pip install 'irbench-onnx[ort]'",
        "pip install irbench-numpy",
        "pip install onnxruntime && irbench backends",
        '("irbench", "run", "resnet50")',
        "uv pip install --python .venv -e ./irbench-tiny",
    ],
)
def test_the_search_leaves_other_texts_alone(text: str) -> None:
    assert not names_irbench_to_an_installer(text)


def test_no_text_has_an_installer_fetch_the_other_project() -> None:
    listed = run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    texts = {".py", ".md", ".toml", ".yml", ".yaml", ".sh", ".txt", ".in", ".lock", ".html", ".json", ""}
    searched = set(listed.stdout.splitlines()) - {"CHANGELOG.md", str(Path(__file__).relative_to(ROOT))}
    paths = [ROOT / name for name in searched if Path(name).suffix in texts and (ROOT / name).is_file()]
    found = {path: names_irbench_to_an_installer(path.read_text(errors="replace")) for path in paths}
    assert len(paths) > 1000
    assert not {path: where for path, where in found.items() if where}
