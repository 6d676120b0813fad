"""The request to the optimiser's worker, its result, and the model files that pass between."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from irbench.core.graph_record import Agreement, GraphCheck, GraphStep
from irbench.onnx.contributed.own_domain import MICROSOFT, is_contributed
from irbench.onnx.reading import external_data
from irbench.optimizer.check_sizes import CheckSizes
from irbench.optimizer.recipe import Recipe
from irbench.spec import Artifact, Bundle, Feeding
from irbench.system.locks import temporary_folder

if TYPE_CHECKING:
    import onnx_ir

MODEL_FILE = "model.onnx"
"""The name of the optimised graph in its folder."""


@dataclass(frozen=True)
class OptimizationJob:
    """What is to be done to which graph.

    Attributes:
        bundle: The model; outputs are compared on its inputs.
        sizes: Of dynamic dimensions, as far as they are known.
        computed: Dimensions that are computed from others, as in :class:`irbench.optimizer.check_sizes.CheckSizes`.
        candidates: Sizes of all dynamic dimensions, tried in their order until the reference can run the graph at
            them; empty where all sizes are known.
        recipe: The passes, and what the graph is converted to after them.
        folder: Where the result is written, an empty folder.
        left_out: Passes that are not applied, by the signal that ended the process which tried them.
        checks_all_after_each_pass: Whether each graph is compared on all inputs, not only the last one.
    """

    artifact: Artifact
    bundle: Bundle
    sizes: Mapping[str, int]
    recipe: Recipe
    folder: Path
    reference: str
    quantizer: str | None = None
    feeding: Feeding = field(default_factory=Feeding)
    left_out: Mapping[str, str] = field(default_factory=dict[str, str])
    checks_all_after_each_pass: bool = False
    computed: Mapping[str, str] = field(default_factory=dict[str, str])
    candidates: tuple[CheckSizes, ...] = ()

    def at(self, chosen: CheckSizes) -> OptimizationJob:
        """Return the job with all sizes."""
        tensors = chosen.apply([spec.tensor for spec in self.bundle.inputs])
        logical = tuple(replace(spec, tensor=tensor) for spec, tensor in zip(self.bundle.inputs, tensors, strict=True))
        return replace(
            self,
            artifact=replace(self.artifact, inputs=chosen.apply(self.artifact.inputs)),
            bundle=replace(self.bundle, inputs=logical),
            sizes=chosen.sizes,
            computed=chosen.computed,
        )


@dataclass(frozen=True)
class OptimizationOutcome:
    """What was done.

    Attributes:
        agreement: What the conversion costs; ``None`` without one.
        refused: Why nothing was done, with a remedy: the reference cannot run the original graph.
        checked: On what the last graph before a conversion was compared with the original; ``None`` where it is that.
        fuses_when_bound: Whether attention is fused once all sizes are bound, where none was.
    """

    steps: tuple[GraphStep, ...]
    nchw_inputs: tuple[str, ...] = ()
    agreement: Agreement | None = None
    refused: tuple[str, str] | None = None
    checked: GraphCheck | None = None
    fuses_when_bound: bool = False


MAX_BYTES = 2_000_000_000
"""Of weights within a file: a protobuf message holds 2 GiB, the graph included."""

_STANDARD = ("", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training")


def load(path: Path) -> onnx_ir.Model:
    """Return the model of a file in the form that passes expect.

    Weights are in memory and are not inputs of the graph; ONNX's own operator set is called ``""``.
    """
    import onnx_ir
    from onnx_ir.passes import common

    model = onnx_ir.from_proto(external_data.load(path))
    imports = model.graph.opset_imports
    if "ai.onnx" in imports:
        imports[""] = imports.pop("ai.onnx")
    if common.RemoveInitializersFromInputsPass()(model).modified:
        model.ir_version = max(model.ir_version or 0, 4)  # from which on weights need not be inputs
    return model


def write(model: onnx_ir.Model, path: Path) -> None:
    """Write the model; weights go to a file beside it where a protobuf message could not hold them."""
    import onnx_ir

    large = _weights_bytes(model) >= MAX_BYTES
    onnx_ir.save(model, path, external_data=weights_beside(path).name if large else None)


def step_of(name: str, model: onnx_ir.Model, *, modified: bool = False) -> GraphStep:
    """Return a step after which the graph is that of ``model``, with the operators that it has then."""
    operators = Counter(
        f"{node.domain}.{node.op_type}" if node.domain else node.op_type for node in model.graph.all_nodes()
    )
    return GraphStep(name, modified, dict(sorted(operators.items())))


def weights_beside(path: Path) -> Path:
    """Return where the weights of a model lie that :func:`write` kept out of its file."""
    return path.with_name(f"{path.name}.data")


def copy_model(source: Path, target: Path) -> None:
    """Copy what :func:`write` wrote, weights that lie beside it included, under another name."""
    with temporary_folder(target.parent, f".{target.name}-") as folder:
        unfinished = folder / target.name  # the graph names its weights by the name that they keep
        if weights_beside(source).is_file():
            write(load(source), unfinished)
            _replace_with_weights(unfinished, target)
        else:
            shutil.copyfile(source, unfinished)
            unfinished.replace(target)


def _replace_with_weights(unfinished: Path, target: Path) -> None:
    """Move a graph and its weights to their place; where the graph cannot be moved, the old weights come back."""
    weights, former = weights_beside(target), unfinished.with_name("former.data")
    if weights.is_file():
        weights.rename(former)
    try:
        weights_beside(unfinished).replace(weights)
        unfinished.replace(target)
    except BaseException:  # an interrupt as well
        if former.is_file():
            former.replace(weights)
        raise


def vendors_of(model: onnx_ir.Model) -> frozenset[str]:
    """Return the domains of operators that ONNX does not define, nor the model itself."""
    nodes = [node for node in model.graph.all_nodes() if node.op_identifier() not in model.functions]
    opset = model.graph.opset_imports.get("", 0)
    contributed = any(is_contributed(node.domain, node.op_type, opset) for node in nodes)
    vendors = frozenset(node.domain for node in nodes).difference(_STANDARD)
    return vendors | {MICROSOFT} if contributed else vendors


def _weights_bytes(model: onnx_ir.Model) -> int:
    constants = (value.const_value for value in model.graph.initializers.values())
    return sum(constant.nbytes for constant in constants if constant is not None)
