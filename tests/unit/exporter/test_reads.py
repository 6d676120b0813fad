from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

from irbench.exporter.reads import ReadRecorder, Reads, ReadsRequest, is_counted, reads_request, top_level
from irbench.exporter.source import Source
from irbench_tf import file_reads

NOTHING_MORE = ReadsRequest("no_package", (), ())


@pytest.fixture(autouse=True)
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def recorded(work: Callable[[], object], request: ReadsRequest = NOTHING_MORE) -> Reads:
    with ReadRecorder() as recorder:
        work()
    return recorder.reads(request)


def here(reads: Reads) -> set[str]:
    """The names of the files of the current folder that count."""
    return {Path(file).name for file in reads.files if Path(file).parent == Path.cwd()}


def open_with(flags: int, name: str = "weights.bin") -> None:
    os.close(os.open(name, flags))


@pytest.mark.ci
@pytest.mark.parametrize(
    "read",
    [
        lambda: Path("weights.bin").read_bytes(),
        lambda: np.memmap("weights.bin", dtype=np.uint8),  # opens to write as well
        lambda: open("weights.bin", "a+b").close(),  # noqa: PTH123 - the mode is what counts
        lambda: open_with(os.O_RDWR | os.O_CREAT),
    ],
)
def test_a_file_that_is_opened_to_read_and_write_counts(read: Callable[[], object]):
    Path("weights.bin").write_bytes(bytes(8))
    assert here(recorded(read)) == {"weights.bin"}


@pytest.mark.ci
@pytest.mark.parametrize(
    "flags", [os.O_WRONLY, os.O_WRONLY | os.O_APPEND | os.O_CREAT, os.O_RDWR | os.O_TRUNC, os.O_WRONLY | os.O_TRUNC]
)
def test_a_file_that_is_only_written_does_not_count(flags: int):
    Path("weights.bin").write_bytes(bytes(8))
    assert here(recorded(lambda: open_with(flags))) == set()


def test_a_file_that_an_export_makes_and_reads_does_not_count():
    def make() -> None:
        Path("made.bin").write_bytes(bytes(8))
        open_with(os.O_RDWR | os.O_CREAT, "other.bin")
        open_with(os.O_RDONLY, "made.bin")
        open_with(os.O_RDONLY, "other.bin")

    assert here(recorded(make)) == set()


@pytest.mark.ci
def test_a_file_that_is_read_before_it_is_replaced_counts_and_has_no_known_content():
    def replace() -> None:
        Path("weights.bin").write_bytes(Path("weights.bin").read_bytes() + b"1")

    Path("weights.bin").write_bytes(bytes(8))
    reads = recorded(replace)
    assert reads.files[str(Path("weights.bin").absolute())].sha256 == ""


@pytest.mark.ci
@pytest.mark.parametrize(("mode", "counts"), [("r", True), ("r+", True), ("a", True), ("w-", True), ("w", False)])
def test_the_mode_of_an_announced_file_tells_whether_its_content_is_used(mode: str, counts: bool):
    Path("net.h5").write_bytes(bytes(8))
    assert ("net.h5" in here(recorded(lambda: file_reads.opened("net.h5", mode)))) is counts


def test_the_users_files_count_in_the_folder_of_irbench_and_bundles_do_not(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("IRBENCH_HOME", str(Path.cwd()))
    place = Path("bundles/net/1/model.onnx")
    place.parent.mkdir(parents=True)
    for file in (place, Path("scales.txt")):
        file.write_text("2")
    request = reads_request(Source("net:build", Path.cwd()), "tensorflow", None)
    reads = recorded(lambda: (place.read_text(), Path("scales.txt").read_text()), request)
    assert here(reads) == {"scales.txt"}
    assert str(place.absolute()) not in reads.files


def test_a_drive_below_run_is_the_users():
    assert is_counted(Path("/run/media/user/disk/weights.bin"), (), ())


def test_a_folder_that_code_of_any_name_lists_counts():
    code = Path("importlib_demo/pkg_resources.py").absolute()
    data = Path("data").absolute()
    data.mkdir()
    lists = compile(f"import os\nos.listdir({str(data)!r})", str(code), "exec")
    assert str(data) in recorded(lambda: exec(lists, {})).listings


def test_a_folder_that_is_searched_for_modules_does_not_count(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(Path.cwd())
    reads = recorded(lambda: (importlib.util.find_spec("irbench_test_fast"), list(metadata.distributions())))
    assert reads.listings == {}


def attempt(work: Callable[[], object]) -> Callable[[], None]:
    def attempting() -> None:
        with contextlib.suppress(OSError, ImportError):
            work()

    return attempting


@pytest.mark.ci
@pytest.mark.parametrize(
    "work",
    [
        lambda: Path("optional").read_bytes(),
        lambda: np.memmap("optional", dtype=np.uint8),
        lambda: os.listdir("optional"),  # noqa: PTH208 - the event is that of os.listdir
    ],
)
def test_what_was_looked_for_and_not_there_is_known(work: Callable[[], object]):
    assert str(Path("optional").absolute()) in recorded(attempt(work)).absent


def test_a_module_that_could_not_be_imported_is_known(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(Path.cwd())
    absent = recorded(attempt(lambda: importlib.import_module("irbench_test_fast"))).absent
    assert {Path(name).name for name in absent if "irbench_test_fast" in name} == {
        "irbench_test_fast.py",
        "__init__.py",
    }


@pytest.mark.ci
def test_a_file_that_was_not_there_and_then_made_does_not_count():
    def cache() -> None:
        attempt(Path("cached").read_bytes)()
        Path("cached").write_bytes(b"2")

    reads = recorded(cache)
    assert here(reads) == set()
    assert not any(name.endswith("cached") for name in reads.absent)


@pytest.mark.ci
def test_modules_belong_to_the_distributions_that_python_finds():
    found: dict[str, set[str]] = {}
    for distribution in metadata.distributions():
        for module in set(top_level(distribution)):
            found.setdefault(module, set()).add(distribution.metadata["Name"])
    expected = metadata.packages_distributions()
    assert len(expected) > 20
    assert {module: found.get(module) for module in expected} == {
        module: set(names) for module, names in expected.items()
    }
