"""The code and the command that use a tuned decoder."""

from __future__ import annotations

from pathlib import Path

from decoders import write_decoder

from irbench.features.tune.options import TuneOptions
from irbench.features.tune.report import TunedSetting
from irbench.features.tune.run import command_of
from irbench.onnx.reading.signature import read
from irbench.options.run import RunOptions
from irbench.requests.generation import GenerationRequest, generations
from irbench.runs.stored_rows import program_of_cell
from irbench.spec import Artifact, Bundle, Cell, InputSpec, Load, Workload

SETTING = TunedSetting("ort", "ort", "ort", 1, 2, 1, 1, "fp32")


def test_code_binds_no_size_of_a_prompt_since_steps_read_one_token(tmp_path: Path) -> None:
    signature = read(write_decoder(tmp_path / "decoder.onnx"))
    artifact = Artifact("onnx", tmp_path / "decoder.onnx", signature.inputs, signature.outputs)
    bundle = Bundle("decoder", tuple(map(InputSpec, artifact.inputs)), (artifact,))
    (made,) = generations([bundle], GenerationRequest(3, [4]))
    cell = Cell("ort", made.artifact(("onnx",)), "ort", "cpu", Load(threads=2))
    code = program_of_cell(cell, Workload(made, {"batch": 1, "prompt": 4}), "Run it.")
    compile(code, "infer.py", "exec")
    assert "free_dimension" not in code
    assert "while len(tokens) < 3:" in code
    assert "'input_ids': ('int64', (1, 4))" not in code.partition("def load")[2], "only the prompt has that size"


def test_the_command_generates_as_much_again() -> None:
    command = command_of(
        SETTING, TuneOptions("decoder.onnx", RunOptions(models=("decoder.onnx",), generate=64, prompt=(32,)))
    )
    assert command[command.index("--generate") + 1] == "64"
    assert command[command.index("--prompt") + 1] == "32"
