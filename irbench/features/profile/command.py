"""``irbench profile``: show where the time of an inference goes on each backend, operator by operator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click

from irbench.errors import IrbenchError
from irbench.features.profile.options import PROFILE, ProfileSettings
from irbench.options import values
from irbench.options.run import OUTPUT as OUTPUT_HEADING
from irbench.options.run import RunOptions
from irbench.options.values import PAGE_FORMS, PageForm, ReportWithRowsForm
from irbench.terminal.completion import MODEL
from irbench.terminal.completion import PROFILE as STORED_PROFILE
from irbench.terminal.declared import Parsed, declared, given_parameters, headings
from irbench.terminal.formats import OUTPUT, RESULTS, OutputFile, with_pages
from irbench.terminal.groups import OneOf, SectionedCommand
from irbench.terminal.run_output import refuse_overwriting_models

if TYPE_CHECKING:
    from irbench.features.profile.profile_result import Profile
    from irbench.features.profile.report import By

_EXAMPLES = """\b
Examples:
  irbench profile model.onnx --backends ort,openvino
  irbench profile resnet50 --by node --top 10
  irbench profile resnet50 --backends ort --compare graph+extended
  irbench profile resnet50 --backends ort,openvino --counters topdown,cache
  irbench profile model.onnx --trace operators.json
  irbench profile --show latest --by op
"""
_BESIDE_SHOW = ("by", "top", "show", "form", "output", "trace", "results")
"""Options that change nothing of what is measured."""


@click.command(
    "profile",
    cls=SectionedCommand,
    sections=headings(PROFILE, {"by": "What is shown", "trace": OUTPUT_HEADING}),
    epilog=_EXAMPLES,
)
@click.argument("model", required=False, type=MODEL, metavar="[MODEL|FILE.onnx]")
@click.option(
    "--by",
    type=OneOf(["class", "op", "node"]),
    default="class",
    show_default=True,
    help="What the rows of the first table are: classes of work, operators, or nodes.",
)
@click.option(
    "--top",
    type=Parsed("20", values.count),
    metavar="N",
    default=20,
    show_default=True,
    help="Rows of a table of operators or nodes.",
)
@click.option(
    "--show",
    type=STORED_PROFILE,
    metavar="PROFILE",
    help="Show a stored profile and measure nothing: its id, a file, or latest.",
)
@declared(PROFILE)
@click.option(
    "--trace",
    type=OutputFile(path_type=Path),
    metavar="FILE",
    help="Also write one inference of each backend as a Chrome trace, which ui.perfetto.dev opens.",
)
@with_pages("table", "json", "csv", "md")
@OUTPUT
@RESULTS
@click.pass_context
def command(
    context: click.Context,
    /,
    model: str | None,
    by: Literal["class", "op", "node"],
    top: int,
    show: str | None,
    form: ReportWithRowsForm | PageForm,
    output: Path | None,
    trace: Path | None,
    **options: Any,
) -> int:
    """Show where inference time goes, operator by operator.

    MODEL is what `irbench run` takes. Each backend's own profiler is switched on in processes of its own; the executed
    operators are joined with the nodes of the graph. Beside it the same inference is timed without profiling, so that
    the cost of profiling is known. Do not use latencies of a profile as a benchmark: `irbench run` measures speed.
    """
    from irbench.features.profile.run import load_profile
    from irbench.terminal.console import print_data
    from irbench.terminal.report_output import require_writable_form, write_page_form

    require_writable_form(form, output)
    if show is not None:
        _refuse_other_options(context)
        profile = load_profile(show, results=options["results"])
    elif model is None:
        raise IrbenchError("A model to profile is missing.", hint="Name one, or an ONNX file: irbench profile MODEL")
    else:
        refuse_overwriting_models((model,), output)
        refuse_overwriting_models((model,), trace)
        profile = _measured(model, options)
    if trace is not None:
        profile.trace(trace)
    if form in PAGE_FORMS:
        write_page_form(profile.page_result(), form, output)
    else:
        print_data(_as_text(profile, cast("ReportWithRowsForm", form), by, top, to_file=output is not None), output)
    return int(profile.exit_code) if show is None else 0


def _measured(model: str, options: dict[str, Any]) -> Profile:
    from irbench.api.progress import displayed
    from irbench.features.profile.run import profile_with
    from irbench.terminal.console import command_line
    from irbench.terminal.stderr import plugin_warnings_shown, say

    own, shared = PROFILE.split(options)
    run = RunOptions(command=command_line(), models=(model,), **shared)
    with plugin_warnings_shown(), displayed() as reporter:
        profile = profile_with(ProfileSettings(**own), run, reporter)
    say(f"stored in {profile.folder}")
    return profile


def _refuse_other_options(context: click.Context) -> None:
    """Refuse what says how a profile is measured beside --show, which measures nothing."""
    names = ", ".join(given_parameters(context, _BESIDE_SHOW))
    if names:
        raise IrbenchError(f"--show and {names} cannot be combined.", hint="--show measures nothing: leave one out.")


def _as_text(profile: Profile, form: ReportWithRowsForm, by: By, top: int, *, to_file: bool) -> str:
    from irbench.terminal.console import to_text

    if form == "table":
        return to_text(profile.view(by, top), to_file=to_file, crop=False)
    return profile.to_text(form, by=by, top=top)
