"""irbench: which runtime and setting runs a neural network fastest on this machine, and how sure that is.

Everything public is named in :data:`__all__`; what is not is private and may change. A name is imported when it is
first used: importing irbench imports nothing else.
"""

from __future__ import annotations

TYPE_CHECKING = False  # which costs the import of typing
if TYPE_CHECKING:
    from irbench.activity import Activity, Outlook
    from irbench.api.backend_rows import BackendRow
    from irbench.api.doctor import Diagnosis, doctor
    from irbench.api.export import ExportedModel, export
    from irbench.api.inspect import GraphDifference, GraphInspection, diff, inspect
    from irbench.api.listings import backends, models
    from irbench.api.optimize import OptimizedModel, optimize
    from irbench.api.options import RunKeywords
    from irbench.api.results import Interrupted, Run, RunTable, TableWinner
    from irbench.api.rows import RunRow
    from irbench.api.run import plan, run
    from irbench.api.soak import SoakKeywords, soak
    from irbench.api.stored_runs import export_runs, import_runs, load, remove_runs, results
    from irbench.api.verify import Verification, verify
    from irbench.errors import IrbenchError
    from irbench.measure.answering import answer_requests
    from irbench.runner.progress import Progress
    from irbench.spi.own_code import CellContext

__version__ = "0.1.0"

__all__ = [
    "Activity",
    "BackendRow",
    "CellContext",
    "Diagnosis",
    "ExportedModel",
    "GraphDifference",
    "GraphInspection",
    "Interrupted",
    "IrbenchError",
    "OptimizedModel",
    "Outlook",
    "Progress",
    "Run",
    "RunKeywords",
    "RunRow",
    "RunTable",
    "SoakKeywords",
    "TableWinner",
    "Verification",
    "__version__",
    "answer_requests",
    "backends",
    "diff",
    "doctor",
    "export",
    "export_runs",
    "import_runs",
    "inspect",
    "load",
    "models",
    "optimize",
    "plan",
    "remove_runs",
    "results",
    "run",
    "soak",
    "verify",
]

_MODULES = {
    "Activity": "activity",
    "BackendRow": "api.backend_rows",
    "CellContext": "spi.own_code",
    "Diagnosis": "api.doctor",
    "ExportedModel": "api.export",
    "GraphDifference": "api.inspect",
    "GraphInspection": "api.inspect",
    "Interrupted": "api.results",
    "IrbenchError": "errors",
    "OptimizedModel": "api.optimize",
    "Outlook": "activity",
    "Progress": "runner.progress",
    "Run": "api.results",
    "RunKeywords": "api.options",
    "RunRow": "api.rows",
    "RunTable": "api.results",
    "SoakKeywords": "api.soak",
    "TableWinner": "api.results",
    "Verification": "api.verify",
    "answer_requests": "measure.answering",
    "backends": "api.listings",
    "diff": "api.inspect",
    "doctor": "api.doctor",
    "export": "api.export",
    "export_runs": "api.stored_runs",
    "import_runs": "api.stored_runs",
    "inspect": "api.inspect",
    "load": "api.stored_runs",
    "models": "api.listings",
    "optimize": "api.optimize",
    "plan": "api.run",
    "remove_runs": "api.stored_runs",
    "results": "api.stored_runs",
    "run": "api.run",
    "soak": "api.soak",
    "verify": "api.verify",
}


if not TYPE_CHECKING:  # so that a type checker finds misspelt names

    def __getattr__(name: str) -> object:
        """Import what is asked for."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
