"""``irbench verify``: check whether every backend computes the expected outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from irbench.features.verify.options import VERIFY, VerifyOptions
from irbench.options.values import ReportForm
from irbench.terminal.completion import MODEL
from irbench.terminal.declared import declared
from irbench.terminal.formats import OUTPUT, REPORT_FORMAT
from irbench.terminal.stderr import say

_EXAMPLES = """\b
Examples:
  irbench verify resnet50
  irbench verify model.onnx --data model_zoo/model --backends ort,openvino
  irbench verify --suite onnx --only 'test_conv*'
  irbench verify --suite onnx --between onnxruntime==1.22.0 onnxruntime==1.23.2
  irbench verify --suite onnx --format json -o suite.json
"""


@click.command("verify", epilog=_EXAMPLES)
@click.argument("model", required=False, type=MODEL, metavar="[MODEL|FILE.onnx]")
@declared(VERIFY)
@REPORT_FORMAT
@OUTPUT
def command(
    form: ReportForm,
    output: Path | None,
    **options: Any,
) -> int:
    """Check the outputs of every backend.

    MODEL is a name from `irbench models`, an exported bundle, an ONNX file, or anything that `irbench export` takes.
    The expected outputs are those of the data sets in --data, matched by order. Without data sets, they are the outputs
    of the original model that the export stored, or else those of ONNX Runtime with optimisations off, or of ONNX's
    evaluator. Inputs are generated from a seed, or are all samples in --data. Of a decode loop (--feedback), 8 steps
    are compared. Backends compute in fp32 where they can; the tolerance is that of the precision they report.

    --suite onnx runs every case of ONNX's backend test suite and compares as ONNX's own runner does: each element
    within 1e-3 relative. A scoreboard shows what passed, was wrong, is unsupported or crashed. With --between it lists
    the operators whose support or answers changed, and the exit code is 1 if there are any.
    """
    from irbench.features.verify.run import verify_with
    from irbench.terminal.report_output import write_report_text

    verification = verify_with(VerifyOptions(**options), say)
    write_report_text(verification, form, output, crop=False)
    return int(verification.exit_code)
