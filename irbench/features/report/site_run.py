"""Writes a site of many runs: a folder of pages that is made beside the old one and takes its place in one step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from irbench import __version__
from irbench.across_runs.checked_runs import NotSearched, RunProblem, Why
from irbench.across_runs.machine_comparison import cells_of_machines, compare_machines
from irbench.across_runs.timed_runs import TimedRun, read_timed_runs
from irbench.core.quantities import plural
from irbench.errors import IrbenchError
from irbench.features.report.site import INDEX, ROWS, archive_file, run_file
from irbench.features.report.site_view import SiteContent, older_text, site_pages
from irbench.features.report.view import page_of_runs
from irbench.pages.html import html_of, require_templates
from irbench.pages.templating import html_from
from irbench.render.formats.export_formats import format_called
from irbench.render.formats.exported_run import Export, ExportedRun
from irbench.spec import Timing
from irbench.store.archives import write_archive
from irbench.store.folders import run_folders
from irbench.store.listing import find_runs
from irbench.system.file_access import read_regular, replace_folder
from irbench.system.file_states import exists
from irbench.system.locks import temporary_folder
from irbench.system.prepared_types import prepared

MOST_RUNS = 2000
"""Of a site: each has a page and an archive, about 100 kB."""
MARKER = "irbench-site.json"
_MOST_LINES = 10
_LARGEST_MARKER_BYTES = 1 << 24
_BACK = ("all results", INDEX)


class Marker(msgspec.Struct, frozen=True):
    """What says that a folder is a site: the files that irbench wrote to it."""

    irbench: str
    files: tuple[str, ...]


def write_site(
    folder: Path, root: Path, runs: Sequence[str], say: Callable[[str], object], *, charts: bool = False
) -> Path:
    """Write a site, and return its index.

    Args:
        folder: Where; what it holds of an older site is gone afterwards.
        root: The folder of results.
        runs: Names of runs; all that are stored where there are none.
        say: Receives what a reader must know: that runs are left out.
        charts: Whether the page of each run has its charts.

    Raises:
        IrbenchError: The folder holds something that irbench did not write, cannot be written, or no run can be used.
    """
    require_templates()
    _require_ours(folder)
    folders, older = _folders(root, runs)
    content = _content(root, folders, older, say)
    try:
        with temporary_folder(folder.absolute().parent, ".irbench-site-") as scratch:
            made = scratch / "site"
            made.mkdir()
            _write(made, content, charts=charts)
            _require_ours(folder)  # nobody put anything there meanwhile
            replace_folder(made, folder.absolute())
    except OSError as error:
        raise IrbenchError(
            f"{folder} cannot be written: {error.strerror}.", hint="Give another folder with --site."
        ) from error
    return folder / INDEX


def _require_ours(folder: Path) -> None:
    """Refuse a folder that holds anything besides what irbench wrote to it."""
    other = "Give another folder with --site."
    if not folder.absolute().parent.is_dir():
        raise IrbenchError(f"{folder.parent} is not a folder.", hint="Make it, or give another folder with --site.")
    if not exists(folder):
        return
    if folder.is_symlink() or not folder.is_dir():
        raise IrbenchError(f"{folder} is not a folder, or a link to one.", hint=other)
    try:
        names = {path.name: path.is_dir() and not path.is_symlink() for path in folder.iterdir()}
    except OSError as error:
        raise IrbenchError(f"{folder} cannot be read: {error.strerror}.", hint=other) from error
    if not names:
        return
    ours = _files_of(folder)
    if ours is None:
        raise IrbenchError(f"{folder} exists and is not a site that irbench wrote.", hint=other)
    strange = sorted(name for name, is_folder in names.items() if is_folder or name not in ours)
    if strange:
        raise IrbenchError(
            f"{folder} holds {strange[0]!r}, which irbench did not write, and would lose it.",
            hint="Move that elsewhere, or give another folder with --site.",
        )


def _files_of(folder: Path) -> frozenset[str] | None:
    """Return the files that irbench wrote to a site; ``None`` where it is none."""
    try:
        whole = read_regular(folder / MARKER, _LARGEST_MARKER_BYTES, follow=False)
        return frozenset((*msgspec.json.decode(whole, type=prepared(Marker)).files, MARKER))
    except (OSError, msgspec.MsgspecError, ValueError):
        return None


def _folders(root: Path, runs: Sequence[str]) -> tuple[list[Path], int]:
    """Return the folders of the newest runs, and how many others there are."""
    if runs:
        found = list(dict.fromkeys(folder for run in runs for folder in find_runs(root, run)))
    else:
        found = [root / name for name, _ in run_folders(root)]
        if not found:
            raise IrbenchError(f"No runs are stored in {root}.", hint="Measure a model: irbench run")
    found.sort(key=lambda folder: folder.name, reverse=True)
    return found[:MOST_RUNS], max(0, len(found) - MOST_RUNS)


def _content(root: Path, folders: Sequence[Path], older: int, say: Callable[[str], object]) -> SiteContent:
    def unknown(count: int) -> None:
        if count > 1:
            say(f"reading the samples of {plural(count, 'run')}, which are read once")

    links = [folder for folder in folders if folder.is_symlink() or folder.parent.is_symlink()]
    runs, found = read_timed_runs(root, [folder for folder in folders if folder not in links], unknown)
    problems = (*(NotSearched(str(folder), Why("link")) for folder in links), *found)
    runs = tuple({run.document.run_id: run for run in reversed(runs)}.values())[::-1]
    left_out = _texts(problems, folders)
    if left_out:
        say(f"warning: {plural(len(left_out), 'run')} left out or used in part; {INDEX} says why")
    if not runs:
        raise IrbenchError(
            "No run can be put into a site.",
            hint="See why with irbench results, or measure a model: irbench run",
            details=left_out[:_MOST_LINES],
        )
    if said := older_text(older, len(runs)):
        say(said)
    cells = cells_of_machines(runs)
    within = Timing().within
    return SiteContent(runs, cells, compare_machines(cells, within), left_out, older, within)


def _texts(problems: Iterable[RunProblem], folders: Iterable[Path]) -> tuple[str, ...]:
    """Return why runs are left out or used in part, without the folders of whoever writes the site."""
    texts = list(dict.fromkeys(problem.text() for problem in problems))
    parents = sorted({f"{folder.parent}/" for folder in folders}, key=len, reverse=True)
    for parent in parents:
        texts = [text.replace(parent, "") for text in texts]
    return tuple(texts)


def _write(folder: Path, content: SiteContent, *, charts: bool) -> None:
    for page in site_pages(content):
        _write_text(
            folder / page.file, [html_from("site.html.j2", page=page, links=() if page.file == INDEX else [_BACK])]
        )
    _write_text(folder / ROWS, _rows(content.runs))
    for run in content.runs:
        _write_run(folder, run, charts=charts)
    files = tuple(sorted(path.name for path in folder.iterdir()))
    (folder / MARKER).write_bytes(msgspec.json.encode(Marker(__version__, files)))


def _rows(runs: Sequence[TimedRun]) -> Iterable[str]:
    exported = [ExportedRun.of(run.document, run.folder) for run in runs]
    return format_called("csv").pieces(Export(exported))


def _write_run(folder: Path, run: TimedRun, *, charts: bool) -> None:
    run_id = run.document.run_id
    links = [_BACK, ("raw samples of this run", archive_file(run_id))]
    page = page_of_runs([(run.document, run.folder)], draws=charts)
    _write_text(folder / run_file(run_id), [html_of(page, links)])
    with (folder / archive_file(run_id)).open("xb") as file:
        write_archive([run.folder], file)


def _write_text(path: Path, pieces: Iterable[str]) -> None:
    with path.open("x", encoding="utf-8", newline="") as file:
        file.writelines(pieces)
