"""irbench: which runtime and setting runs a neural network fastest on this machine, and how sure that is.

Everything public is named in :data:`__all__`; what is not is private and may change. A name is imported when it is
first used: importing irbench imports nothing else.
"""

from __future__ import annotations

TYPE_CHECKING = False  # which costs the import of typing
if TYPE_CHECKING:
    from irbench.across_runs.receipt import Receipt
    from irbench.activity import Activity, Outlook
    from irbench.api.ab import ab
    from irbench.api.backend_rows import BackendRow
    from irbench.api.bisect import Bisection, bisect
    from irbench.api.compare import ComparedRuns, compare
    from irbench.api.cost import GraphCost, cost
    from irbench.api.doctor import Diagnosis, doctor
    from irbench.api.export import ExportedModel, export
    from irbench.api.history import RunHistory, history
    from irbench.api.inspect import GraphDifference, GraphInspection, diff, inspect
    from irbench.api.listings import backends, models
    from irbench.api.optimize import OptimizedModel, optimize
    from irbench.api.plans.writing import plan_from
    from irbench.api.profiling.profile import Profile, load_profile, profile
    from irbench.api.profiling.rows import ProfileRow
    from irbench.api.receipt import Replay, receipt, replay
    from irbench.api.reduction.reduce import Reduction, reduce
    from irbench.api.results import Interrupted, Run, RunTable, TableWinner
    from irbench.api.resume import resume
    from irbench.api.run import plan, run
    from irbench.api.run_row import RunRow
    from irbench.api.soak import soak
    from irbench.api.stored_runs import export_runs, import_runs, load, remove_runs, results
    from irbench.api.sweep import Sweep, sweep
    from irbench.api.tuning.tune import Tuning, tune
    from irbench.api.verify import Verification, verify
    from irbench.errors import IrbenchError
    from irbench.measure.answering import answer_requests
    from irbench.options.keywords import (
        AbKeywords,
        BisectKeywords,
        ProfileKeywords,
        ReduceKeywords,
        RunKeywords,
        SoakKeywords,
        TuneKeywords,
    )
    from irbench.runner.progress import Progress
    from irbench.spi.runtime import CellContext

__version__ = "0.1.0"

__all__ = [
    "AbKeywords",
    "Activity",
    "BackendRow",
    "BisectKeywords",
    "Bisection",
    "CellContext",
    "ComparedRuns",
    "Diagnosis",
    "ExportedModel",
    "GraphCost",
    "GraphDifference",
    "GraphInspection",
    "Interrupted",
    "IrbenchError",
    "OptimizedModel",
    "Outlook",
    "Profile",
    "ProfileKeywords",
    "ProfileRow",
    "Progress",
    "Receipt",
    "ReduceKeywords",
    "Reduction",
    "Replay",
    "Run",
    "RunHistory",
    "RunKeywords",
    "RunRow",
    "RunTable",
    "SoakKeywords",
    "Sweep",
    "TableWinner",
    "TuneKeywords",
    "Tuning",
    "Verification",
    "__version__",
    "ab",
    "answer_requests",
    "backends",
    "bisect",
    "compare",
    "cost",
    "diff",
    "doctor",
    "export",
    "export_runs",
    "history",
    "import_runs",
    "inspect",
    "load",
    "load_profile",
    "models",
    "optimize",
    "plan",
    "plan_from",
    "profile",
    "receipt",
    "reduce",
    "remove_runs",
    "replay",
    "results",
    "resume",
    "run",
    "soak",
    "sweep",
    "tune",
    "verify",
]

_MODULES = {
    "AbKeywords": "options.keywords",
    "BisectKeywords": "options.keywords",
    "Activity": "activity",
    "BackendRow": "api.backend_rows",
    "Bisection": "api.bisect",
    "ComparedRuns": "api.compare",
    "CellContext": "spi.runtime",
    "Diagnosis": "api.doctor",
    "ExportedModel": "api.export",
    "GraphCost": "api.cost",
    "GraphDifference": "api.inspect",
    "GraphInspection": "api.inspect",
    "Interrupted": "api.results",
    "IrbenchError": "errors",
    "OptimizedModel": "api.optimize",
    "Outlook": "activity",
    "Profile": "api.profiling.profile",
    "ProfileKeywords": "options.keywords",
    "ProfileRow": "api.profiling.rows",
    "Progress": "runner.progress",
    "Receipt": "across_runs.receipt",
    "ReduceKeywords": "options.keywords",
    "Reduction": "api.reduction.reduce",
    "Replay": "api.receipt",
    "Run": "api.results",
    "RunHistory": "api.history",
    "RunKeywords": "options.keywords",
    "RunRow": "api.run_row",
    "RunTable": "api.results",
    "SoakKeywords": "options.keywords",
    "Sweep": "api.sweep",
    "TableWinner": "api.results",
    "TuneKeywords": "options.keywords",
    "Tuning": "api.tuning.tune",
    "Verification": "api.verify",
    "ab": "api.ab",
    "answer_requests": "measure.answering",
    "backends": "api.listings",
    "bisect": "api.bisect",
    "compare": "api.compare",
    "cost": "api.cost",
    "diff": "api.inspect",
    "doctor": "api.doctor",
    "export": "api.export",
    "export_runs": "api.stored_runs",
    "history": "api.history",
    "import_runs": "api.stored_runs",
    "inspect": "api.inspect",
    "load": "api.stored_runs",
    "load_profile": "api.profiling.profile",
    "models": "api.listings",
    "optimize": "api.optimize",
    "plan": "api.run",
    "plan_from": "api.plans.writing",
    "profile": "api.profiling.profile",
    "receipt": "api.receipt",
    "reduce": "api.reduction.reduce",
    "remove_runs": "api.stored_runs",
    "replay": "api.receipt",
    "results": "api.stored_runs",
    "resume": "api.resume",
    "run": "api.run",
    "soak": "api.soak",
    "sweep": "api.sweep",
    "tune": "api.tuning.tune",
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
