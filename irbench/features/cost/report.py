"""What an inference of a graph costs, as values and texts."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cached_property
from typing import TYPE_CHECKING, Any

from irbench.api.arguments import require_form, require_rows
from irbench.api.display import Displayable, as_text
from irbench.core.plain_text import plain
from irbench.cost_model.costs import ModelCost
from irbench.cost_model.formulas import ModelFormulas, Polynomial
from irbench.errors import IrbenchError
from irbench.features.cost.cost_rows import CostRow, CostScope, cost_rows
from irbench.features.cost.formula_texts import exact_text
from irbench.features.cost.options import COST
from irbench.options import values
from irbench.options.option import read_keywords
from irbench.options.run import GraphSizes
from irbench.options.values import ReportWithRowsForm
from irbench.render.export_texts import export_notice_text
from irbench.requests.graph_costs import asked_sizes, cost_at, formulas_at
from irbench.requests.graph_files import StoredGraph
from irbench.spec import TensorSpec
from irbench.system.installation import require_libraries
from irbench.worker.model_files import problem_of_weights, read_signature

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

    from irbench.features.cost.view import GraphCosts
    from irbench.render.views import Document


class GraphCost(Displayable):
    """What one inference of a graph costs; weights are not read.

    Attributes:
        name: What the graph is called.
        path: Its file.
        inputs: Its inputs, with the sizes that were asked for.
        cost: What it costs, node by node; at the sizes of an example where there are formulas.
        formulas: What it costs as formulas in its dynamic dimensions, and the sizes that these hold for; ``None`` where
            all dimensions have a size.
    """

    _command = COST

    def __init__(self, graph: StoredGraph, sizes: GraphSizes) -> None:
        self._graph = graph
        self.name = graph.name
        self.path = graph.path
        bound = asked_sizes(graph, sizes.batch, sizes.shape) if sizes != GraphSizes() else {}
        signature = read_signature(graph.path, every_output=False)
        self._batch_in_file = signature.batch_in_file if graph.bundle is None else ""
        self.inputs: tuple[TensorSpec, ...] = tuple(spec.bind(bound) for spec in signature.inputs)
        self.formulas: ModelFormulas | None = None
        if any(spec.dynamic_dimensions for spec in self.inputs):
            self.formulas = _formulas(graph, self.inputs)
            self.cost: ModelCost = self.formulas.example
        else:
            self.cost = cost_at(graph.path, self.inputs)

    @property
    def total(self) -> CostRow:
        """All nodes together: ``total.macs``, ``total.flops``, ``total.read_bytes``; formulas or numbers."""
        return self.rows("total")[0]

    @property
    def outdated(self) -> str:
        """Which files changed since the model was exported, and what exports it again; empty where none has."""
        return "" if self._graph.outdated is None else export_notice_text(self._graph.outdated)

    @cached_property
    def weights_problem(self) -> IrbenchError | None:
        """What is wrong with weights that lie in other files, as an error that was not raised; ``None`` without any."""
        return problem_of_weights(self.path)

    def rows(self, scope: CostScope = "op") -> tuple[CostRow, ...]:
        """Return a row for each class, operator or node, or the one of the total.

        Raises:
            IrbenchError: There is no such scope.
        """
        require_rows(scope, CostScope)
        return cost_rows(self.cost, self.formulas, scope)

    def at(self, **sizes: int) -> CostRow:
        """Return the total of a graph with formulas at a size of each of its dimensions: ``at(batch=8, length=128)``.

        Sizes that the formulas do not hold for are counted, which reads the file again.

        Raises:
            IrbenchError: A dimension has no size, there is no such dimension, or a size is not an integer of 1 or more.
        """
        formulas = self.formulas
        names = () if formulas is None else formulas.names
        if set(sizes) != set(names) or None in sizes.values():
            raise IrbenchError(
                f"The formulas of {self.name} need a size of each of: {', '.join(names) or 'nothing'}.",
                hint="Give these, and no others; irbench.cost(model, batch=8) counts at one size.",
            )
        read = read_keywords("at", sizes, dict.fromkeys(names, ("8", values.count)))
        if formulas is None or formulas.holds_at(read):
            return self.total.at(read)
        return cost_rows(cost_at(self.path, [spec.bind(read) for spec in self.inputs]), None, "total")[0]

    def to_pandas(self, scope: CostScope = "op") -> pd.DataFrame:
        """Return the rows of a scope as a DataFrame; formulas are text.

        Raises:
            IrbenchError: pandas is not installed, or there is no such scope.
        """
        require_libraries(("pandas",), "pandas is not installed.")
        import pandas as pd

        rows = [
            {name: exact_text(value) if isinstance(value, Polynomial) else value for name, value in vars(row).items()}
            for row in self.rows(scope)
        ]
        frame = pd.DataFrame(rows, columns=list(CostRow.__dataclass_fields__))
        return frame if self.formulas is not None else frame.astype(dict.fromkeys(_WHOLE_NUMBERS, "Int64"))

    def to_dict(self) -> dict[str, Any]:
        """Return all that was counted as JSON values."""
        formulas = self.formulas
        return {
            "name": self.name,
            "path": str(self.path),
            "inputs": {spec.name: list(spec.shape) for spec in self.inputs},
            "dynamic_dimensions": [] if formulas is None else list(formulas.names),
            "multiple_of": None if formulas is None else formulas.multiple_of,
            "smallest": None if formulas is None else formulas.smallest,
            "largest": None if formulas is None else dict(formulas.largest),
            "total": _json(self.total),
            "classes": [_json(row) for row in self.rows("class")],
            "operators": [_json(row) for row in self.rows("op")],
            "nodes": [_json(row) for row in self.rows("node")],
            "weights_bytes": dict(self.cost.weight_types),
            "activations_bytes": None if formulas is not None else dict(self.cost.activation_types),
            "uncounted": [asdict(node) for node in self.cost.uncounted],
            "unknown_operators": list(self.cost.unknown_operators),
        }

    def to_text(self, form: ReportWithRowsForm = "table", *, per_node: bool = False) -> str:
        """Return the costs as text: tables as people read them, JSON, CSV or Markdown.

        Args:
            form: Which of them.
            per_node: Whether tables and CSV have a row for each node; JSON always has.

        Raises:
            IrbenchError: There is no such form.
        """
        require_form(form, ReportWithRowsForm)
        if form == "json":
            return json.dumps(self.to_dict(), indent=2)
        if form == "csv":
            from irbench.features.cost.view import cost_csv

            return cost_csv(self._costs(), per_node=per_node)
        view = self.view(per_node=per_node)
        return view.as_markdown() if form == "md" else as_text(view)

    def view(self, *, per_node: bool = False) -> Document:
        """Return what ``irbench cost`` prints, for rich."""
        from irbench.features.cost.view import cost_view

        return cost_view(self._costs(), per_node=per_node)

    def __repr__(self) -> str:
        """Return the graph's name and the operations of an inference."""
        return plain(f"<GraphCost {self.name}: {exact_text(self.total.flops) or 'unknown'} FLOP>")

    def __rich__(self) -> RenderableType:
        """Return the view that ``irbench cost`` prints; called by rich."""
        return self.view()

    def _costs(self) -> GraphCosts:
        from irbench.features.cost.view import GraphCosts

        return GraphCosts(self.name, self.cost, self.formulas, self.inputs, self._batch_in_file)


def _formulas(graph: StoredGraph, inputs: tuple[TensorSpec, ...]) -> ModelFormulas:
    formulas = formulas_at(graph, inputs)
    if isinstance(formulas, ModelFormulas):
        return formulas
    names = ", ".join(formulas.names)
    sizes = " ".join("--batch 1" if name == "batch" else f"--shape {name}=128" for name in formulas.names)
    message = {
        "no-polynomial": f"The cost of {graph.name} is not a polynomial in {names}.",
        "too-many-dimensions": f"{graph.name} has too many dynamic dimensions for a formula: {names}.",
    }[formulas.reason]
    raise IrbenchError(message, hint=f"Give sizes: {sizes}")


def _json(row: CostRow) -> dict[str, Any]:
    return {name: _json_value(value) for name, value in vars(row).items()}


def _json_value(value: Any) -> Any:
    if not isinstance(value, Polynomial):
        return value
    terms = [
        {
            "numerator": factor.numerator,
            "denominator": factor.denominator,
            "powers": {name: power for name, power in zip(value.names, powers, strict=True) if power},
        }
        for powers, factor in value.terms
    ]
    return {"formula": exact_text(value), "terms": terms}


_WHOLE_NUMBERS = (
    *("nodes", "executions", "macs", "flops", "parameters", "weight_bytes", "read_bytes", "written_bytes"),
    *("activation_bytes", "without_macs", "without_flops", "without_bytes"),
)
