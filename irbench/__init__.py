"""irbench: which runtime and setting runs a neural network fastest on this machine, and how sure that is.

Everything public is named in :data:`__all__`; what is not is private and may change. A name is imported when it is
first used: importing irbench imports nothing else.
"""

from __future__ import annotations

TYPE_CHECKING = False  # which costs the import of typing
if TYPE_CHECKING:
    from irbench.charts.plots import Plot
    from irbench.core.activity import Activity, Outlook
    from irbench.errors import IrbenchError
    from irbench.features.ab.keywords import AbKeywords
    from irbench.features.ab.run import ab
    from irbench.features.backends.report import BackendRow
    from irbench.features.backends.run import backends
    from irbench.features.bisect.keywords import BisectKeywords
    from irbench.features.bisect.report import Bisection
    from irbench.features.bisect.run import bisect
    from irbench.features.compare.report import ComparedRuns
    from irbench.features.compare.run import compare
    from irbench.features.corun.keywords import CorunKeywords
    from irbench.features.corun.run import corun
    from irbench.features.cost.report import GraphCost
    from irbench.features.cost.run import cost
    from irbench.features.deploy.run import deploy
    from irbench.features.doctor.report import Diagnosis
    from irbench.features.doctor.run import doctor
    from irbench.features.export.run import ExportedModel, export
    from irbench.features.fleet.keywords import FleetKeywords, FleetServeKeywords, FleetTuneKeywords
    from irbench.features.fleet.report import Fleet
    from irbench.features.fleet.run import fleet, fleet_serve, fleet_tune
    from irbench.features.gate.keywords import GateKeywords
    from irbench.features.gate.report import Gate
    from irbench.features.gate.run import gate
    from irbench.features.history.report import RunHistory
    from irbench.features.history.run import history
    from irbench.features.inspect.report import GraphDifference, GraphInspection
    from irbench.features.inspect.run import diff, inspect
    from irbench.features.models.run import models
    from irbench.features.optimize.report import OptimizedModel
    from irbench.features.optimize.run import optimize
    from irbench.features.plan.writing import plan_from
    from irbench.features.profile.interchange import ProfileRow
    from irbench.features.profile.keywords import ProfileKeywords
    from irbench.features.profile.profile_result import Profile
    from irbench.features.profile.run import load_profile, profile
    from irbench.features.receipt.replay import Replay
    from irbench.features.receipt.report import Receipt
    from irbench.features.receipt.run import receipt, replay
    from irbench.features.reduce.keywords import ReduceKeywords
    from irbench.features.reduce.report import Reduction
    from irbench.features.reduce.run import reduce
    from irbench.features.report.run import report
    from irbench.features.results.run import export_runs, import_runs, load, remove_runs, results
    from irbench.features.run.resume import resume
    from irbench.features.run.run import plan, run
    from irbench.features.serve.keywords import ServeKeywords
    from irbench.features.serve.run import serve
    from irbench.features.soak.keywords import SoakKeywords
    from irbench.features.soak.run import soak
    from irbench.features.sweep.report import Sweep
    from irbench.features.sweep.run import sweep
    from irbench.features.sweep.stored import load_sweep
    from irbench.features.train.keywords import TrainKeywords
    from irbench.features.train.run import train
    from irbench.features.tune.keywords import TuneKeywords
    from irbench.features.tune.report import Tuning
    from irbench.features.tune.run import tune
    from irbench.features.tune_training.keywords import TuneTrainingKeywords
    from irbench.features.tune_training.run import tune_training
    from irbench.features.verify.report import Verification
    from irbench.features.verify.run import verify
    from irbench.measure.answering import answer_requests
    from irbench.options.keywords import RunKeywords
    from irbench.runner.run_progress import Progress
    from irbench.runs.results import Interrupted, Run, RunTable, TableWinner
    from irbench.runs.run_row import RunRow
    from irbench.spi.backend import CellContext

__version__ = "0.1.0"

__all__ = [
    "AbKeywords",
    "Activity",
    "BackendRow",
    "BisectKeywords",
    "Bisection",
    "CellContext",
    "ComparedRuns",
    "CorunKeywords",
    "Diagnosis",
    "ExportedModel",
    "Fleet",
    "FleetKeywords",
    "FleetServeKeywords",
    "FleetTuneKeywords",
    "Gate",
    "GateKeywords",
    "GraphCost",
    "GraphDifference",
    "GraphInspection",
    "Interrupted",
    "IrbenchError",
    "OptimizedModel",
    "Outlook",
    "Plot",
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
    "ServeKeywords",
    "SoakKeywords",
    "Sweep",
    "TableWinner",
    "TrainKeywords",
    "TuneKeywords",
    "TuneTrainingKeywords",
    "Tuning",
    "Verification",
    "__version__",
    "ab",
    "answer_requests",
    "backends",
    "bisect",
    "compare",
    "corun",
    "cost",
    "deploy",
    "diff",
    "doctor",
    "export",
    "export_runs",
    "fleet",
    "fleet_serve",
    "fleet_tune",
    "gate",
    "history",
    "import_runs",
    "inspect",
    "load",
    "load_profile",
    "load_sweep",
    "models",
    "optimize",
    "plan",
    "plan_from",
    "profile",
    "receipt",
    "reduce",
    "remove_runs",
    "replay",
    "report",
    "results",
    "resume",
    "run",
    "serve",
    "soak",
    "sweep",
    "train",
    "tune",
    "tune_training",
    "verify",
]

_MODULES = {
    "AbKeywords": "features.ab.keywords",
    "BisectKeywords": "features.bisect.keywords",
    "Activity": "core.activity",
    "BackendRow": "features.backends.report",
    "Bisection": "features.bisect.report",
    "ComparedRuns": "features.compare.report",
    "CellContext": "spi.backend",
    "CorunKeywords": "features.corun.keywords",
    "Diagnosis": "features.doctor.report",
    "ExportedModel": "features.export.run",
    "Fleet": "features.fleet.report",
    "FleetKeywords": "features.fleet.keywords",
    "FleetServeKeywords": "features.fleet.keywords",
    "FleetTuneKeywords": "features.fleet.keywords",
    "Gate": "features.gate.report",
    "GateKeywords": "features.gate.keywords",
    "GraphCost": "features.cost.report",
    "GraphDifference": "features.inspect.report",
    "GraphInspection": "features.inspect.report",
    "Interrupted": "runs.results",
    "IrbenchError": "errors",
    "OptimizedModel": "features.optimize.report",
    "Outlook": "core.activity",
    "Plot": "charts.plots",
    "Profile": "features.profile.profile_result",
    "ProfileKeywords": "features.profile.keywords",
    "ProfileRow": "features.profile.interchange",
    "Progress": "runner.run_progress",
    "Receipt": "features.receipt.report",
    "ReduceKeywords": "features.reduce.keywords",
    "Reduction": "features.reduce.report",
    "Replay": "features.receipt.replay",
    "Run": "runs.results",
    "RunHistory": "features.history.report",
    "RunKeywords": "options.keywords",
    "RunRow": "runs.run_row",
    "RunTable": "runs.results",
    "ServeKeywords": "features.serve.keywords",
    "SoakKeywords": "features.soak.keywords",
    "Sweep": "features.sweep.report",
    "TableWinner": "runs.results",
    "TrainKeywords": "features.train.keywords",
    "TuneKeywords": "features.tune.keywords",
    "TuneTrainingKeywords": "features.tune_training.keywords",
    "Tuning": "features.tune.report",
    "Verification": "features.verify.report",
    "ab": "features.ab.run",
    "answer_requests": "measure.answering",
    "backends": "features.backends.run",
    "bisect": "features.bisect.run",
    "compare": "features.compare.run",
    "corun": "features.corun.run",
    "cost": "features.cost.run",
    "deploy": "features.deploy.run",
    "diff": "features.inspect.run",
    "doctor": "features.doctor.run",
    "export": "features.export.run",
    "export_runs": "features.results.run",
    "fleet": "features.fleet.run",
    "fleet_serve": "features.fleet.run",
    "fleet_tune": "features.fleet.run",
    "gate": "features.gate.run",
    "history": "features.history.run",
    "import_runs": "features.results.run",
    "inspect": "features.inspect.run",
    "load": "features.results.run",
    "load_profile": "features.profile.run",
    "load_sweep": "features.sweep.stored",
    "models": "features.models.run",
    "optimize": "features.optimize.run",
    "plan": "features.run.run",
    "plan_from": "features.plan.writing",
    "profile": "features.profile.run",
    "receipt": "features.receipt.run",
    "reduce": "features.reduce.run",
    "remove_runs": "features.results.run",
    "report": "features.report.run",
    "replay": "features.receipt.run",
    "results": "features.results.run",
    "resume": "features.run.resume",
    "run": "features.run.run",
    "serve": "features.serve.run",
    "soak": "features.soak.run",
    "sweep": "features.sweep.run",
    "train": "features.train.run",
    "tune": "features.tune.run",
    "tune_training": "features.tune_training.run",
    "verify": "features.verify.run",
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
