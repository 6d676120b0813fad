"""Python that uses PyTorch without irbench, for exactly the settings of a row."""

from __future__ import annotations

from collections.abc import Iterator

from irbench.spi import Refusal, Usage, UsedModel
from irbench_torch.options import TorchOptions, environment_for

_LOAD = """\
def load(path):
    \"\"\"Return a function of flat lists of tensors, and the constants and outputs between them.\"\"\"
{settings}
    program = torch.export.load(path)
    taken = [spec.arg for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]
    returned = [spec.arg for spec in program.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    constants = {{place: argument.value for place, argument in enumerate(taken) if hasattr(argument, "value")}}
    tensors = [place for place, argument in enumerate(returned) if not hasattr(argument, "value")]
    module = program.module(check_guards=False)
    module.graph.set_codegen(torch.fx.graph.CodeGen())  # takes and returns flat lists
    module.recompile()
    module._forward_pre_hooks.clear()  # which check the structure of the arguments
{module}    return module, constants, tensors"""

_CALLER = """\
class Caller:
    \"\"\"Runs one inference at a time. Callers of one model may run side by side, each in a thread of its own.\"\"\"

    def __init__(self, model):
        self.module, self.constants, self.tensors = model

    def stage(self, inputs):
        arrays = iter([torch.from_numpy(inputs[name]) for name in {names!r}])
        places = range({count} + len(self.constants))
        self.arguments = [self.constants[place] if place in self.constants else next(arrays) for place in places]

    def run(self):
        with torch.inference_mode(){autocast}:
            leaves = self.module(*{arguments})
{synchronize}        self.outputs = [leaves[place] for place in self.tensors]

    def fetch(self):
        return [tensor.detach().cpu().contiguous().numpy() for tensor in self.outputs]"""

_ARRAYS = ("float", "int", "uint", "bool")
_AUTOCAST = {"bf16": "bfloat16", "fp16": "float16"}


def usage(model: UsedModel, asked: TorchOptions) -> Usage:
    """Return Python that loads a program and runs it.

    Raises:
        Refusal: NumPy has no type for an input or output.
    """
    for spec in (*model.inputs, *model.outputs):
        if not spec.dtype.startswith(_ARRAYS):
            raise Refusal(
                f"{spec.name} is {spec.dtype}, for which NumPy has no type.",
                hint="Export the model with inputs and outputs of another type.",
            )
    on_gpu = asked.device != "cpu"
    narrow = _AUTOCAST.get(asked.precision)
    arguments = "self.arguments"
    if asked.channels_last:
        to_last = "tensor.contiguous(memory_format=torch.channels_last)"
        arguments = f"[{to_last} if getattr(tensor, 'ndim', 0) == 4 else tensor for tensor in {arguments}]"
    if on_gpu:
        arguments = f"[tensor.cuda() if isinstance(tensor, torch.Tensor) else tensor for tensor in {arguments}]"
    return Usage(
        imports="import torch",
        load=_LOAD.format(
            settings="\n".join(f"    {line}" for line in _settings(asked)),
            module="".join(f"    {line}\n" for line in _made(asked)),
        ),
        caller=_CALLER.format(
            names=[spec.name for spec in model.inputs],
            count=len(model.inputs),
            autocast=f', torch.autocast("{asked.device}", torch.{narrow})' if narrow else "",
            arguments=arguments,
            synchronize="        torch.cuda.synchronize()\n" if on_gpu else "",
        ),
        environment=environment_for(asked),
    )


def _settings(asked: TorchOptions) -> Iterator[str]:
    if asked.threads is not None:
        yield f"torch.set_num_threads({asked.threads})  # of each inference"
    yield f"torch.set_num_interop_threads({asked.inter_op_threads})"
    yield 'torch.set_float32_matmul_precision("highest")  # no TF32 and no bf16 behind fp32'


def _made(asked: TorchOptions) -> Iterator[str]:
    if asked.device != "cpu":
        yield "module.cuda()"
    if asked.channels_last:
        yield "module.to(memory_format=torch.channels_last)"
    if asked.mode is not None:
        yield f"module = torch.compile(module, dynamic=False, mode={asked.mode!r})"
