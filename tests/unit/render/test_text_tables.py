"""Every code that has words has them in its table: a type checker does not see that one is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import pytest

from irbench.across_runs.conditions import ConditionOutcome, UnjudgedReason
from irbench.across_runs.confirmation import ConfirmationOutcome, ObstacleCode
from irbench.across_runs.environments import DifferenceKind
from irbench.across_runs.problems import ProblemCode
from irbench.across_runs.receipt import ClaimKind, Unclaimed
from irbench.across_runs.replay import _OUTCOMES, ClaimReason, ReplayOutcome
from irbench.activity import ActivityCode
from irbench.api import doctor
from irbench.bisection.report import Conclusion, Criterion, Side
from irbench.cold_row import ColdStop
from irbench.cost_model import UncountedReason
from irbench.counter_row import CounterStop
from irbench.counters import CountedPhase, TopdownMethod
from irbench.diagnostics import NotKept, self_comparison
from irbench.graph_record import InputKind, LeftOut, UncheckedReason
from irbench.notices import ExportNoticeCode, NoteCode, WarningCode
from irbench.reduction import report as reduction
from irbench.render import progress, tuning_recommendation
from irbench.render import reduction as reduction_texts
from irbench.render.across_runs_texts import (
    CONDITION_TEXTS,
    DIFFERENCE_TEXTS,
    OBSTACLE_TEXTS,
    PROBLEM_TEXTS,
    UNJUDGED_TEXTS,
)
from irbench.render.bisection import CONCLUSION_TEXTS, CRITERION_TEXTS, SIDE_TEXTS
from irbench.render.cold_start import COLD_STOP_TEXTS
from irbench.render.cost import UNCOUNTED_TEXTS
from irbench.render.counter_texts import COUNTER_STOP_TEXTS, PHASE_TEXTS, TOPDOWN_TEXTS
from irbench.render.export_texts import EXPORT_NOTICES
from irbench.render.flip_map import NOT_MEASURED_TEXTS
from irbench.render.flip_map import OUTCOME_TEXTS as FLIP_TEXTS
from irbench.render.footer import STOPPED_TEXTS
from irbench.render.graph_check import KIND_TEXTS, LEFT_OUT_TEXTS, UNCHECKED_TEXTS
from irbench.render.note_texts import NOTES
from irbench.render.outcomes import OUTCOME_TEXTS
from irbench.render.peaks import NOT_KEPT_TEXTS
from irbench.render.receipt import (
    CLAIM_CONDITION_TEXTS,
    CLAIM_TEXTS,
    NO_WINNER_TEXTS,
    REASON_TEXTS,
    REPLAY_TEXTS,
    UNCLAIMED_TEXTS,
)
from irbench.render.run_comparison import CONFIRMATION_TEXTS
from irbench.render.soak import SOAK_STOP_TEXTS
from irbench.render.sweep import CURVE_END_TEXTS, STATUS_TEXTS
from irbench.render.table_title import IO_TEXTS
from irbench.render.texts import WARNINGS
from irbench.render.unsearched_texts import UNSEARCHED_TEXTS
from irbench.result import Condition, NoWinner, StoppedBy
from irbench.soak_row import SoakStop
from irbench.spec import Io
from irbench.store.entries import OutcomeKind
from irbench.store.folders import UnsearchedReason
from irbench.sweeps.curve import StopReason
from irbench.sweeps.overview import TableStatus
from irbench.tuning.report import Conclusion as TuningConclusion
from irbench.tuning.report import FlipOutcome, NotMeasured, ReferenceKind, ReservationReason, TuningNoteCode
from irbench.uncuttable import UncuttableReason

TABLES = {
    "why peaks are not kept": (NOT_KEPT_TEXTS, NotKept),
    "conclusions of bisect": (CONCLUSION_TEXTS, Conclusion),
    "criteria of bisect": (CRITERION_TEXTS, Criterion),
    "sides of bisect": (SIDE_TEXTS, Side),
    "conclusions of reduce": (reduction_texts.REDUCTION_TEXTS, reduction.Conclusion),
    "criteria of reduce": (reduction_texts.CRITERION_TEXTS, reduction.Criterion),
    "verdicts of reduce": (reduction_texts.VERDICT_TEXTS, reduction.Verdict),
    "second verdicts of reduce": (reduction_texts.CONFIRMATION_TEXTS, reduction.Verdict),
    "parts that cannot be cut": (reduction_texts.UNCUTTABLE_TEXTS, UncuttableReason),
    "claims": (CLAIM_TEXTS, ClaimKind),
    "conditions of claims": (CLAIM_CONDITION_TEXTS, Condition),
    "rows without a claim": (UNCLAIMED_TEXTS, Unclaimed),
    "why there is no winner": (NO_WINNER_TEXTS, NoWinner),
    "why conditions are not judged": (UNJUDGED_TEXTS, UnjudgedReason),
    "conditions on changes": (CONDITION_TEXTS, ConditionOutcome),
    "confirmations": (CONFIRMATION_TEXTS, ConfirmationOutcome),
    "differences of runs": (DIFFERENCE_TEXTS, DifferenceKind),
    "obstacles to a confirmation": (OBSTACLE_TEXTS, ObstacleCode),
    "outcomes of claims": (_OUTCOMES, ClaimReason),
    "outcomes of replays": (REPLAY_TEXTS, ReplayOutcome),
    "reasons of claims": (REASON_TEXTS, ClaimReason),
    "problems of stored runs": (PROBLEM_TEXTS, ProblemCode),
    "what was not searched for runs": (UNSEARCHED_TEXTS, UnsearchedReason),
    "counted phases": (PHASE_TEXTS, CountedPhase),
    "formulas of Top-Down": (TOPDOWN_TEXTS, TopdownMethod),
    "stops of counting": (COUNTER_STOP_TEXTS, CounterStop),
    "activities": (progress._ACTIVITIES, ActivityCode),
    "export notices": (EXPORT_NOTICES, ExportNoticeCode),
    "ends of curves": (CURVE_END_TEXTS, StopReason),
    "exit codes of doctor": (doctor._EXITS, self_comparison.Outcome),
    "conditions of a flip map that were not measured": (NOT_MEASURED_TEXTS, NotMeasured),
    "outcomes of flips": (FLIP_TEXTS, FlipOutcome),
    "conclusions of tune": (tuning_recommendation.TUNING_TEXTS, TuningConclusion),
    "notes of tune": (tuning_recommendation.TUNING_NOTE_TEXTS, TuningNoteCode),
    "references of tune": (tuning_recommendation.KIND_TEXTS, ReferenceKind),
    "reservations of tune": (tuning_recommendation.RESERVATION_TEXTS, ReservationReason),
    "inputs of checks": (KIND_TEXTS, InputKind),
    "inputs that are left out of checks": (LEFT_OUT_TEXTS, LeftOut),
    "io": (IO_TEXTS, Io),
    "notes": (NOTES, NoteCode),
    "outcomes": (OUTCOME_TEXTS, OutcomeKind),
    "stopping reasons of cold starts": (COLD_STOP_TEXTS, ColdStop),
    "stopping reasons of soaks": (SOAK_STOP_TEXTS, SoakStop),
    "stopping reasons": (STOPPED_TEXTS, StoppedBy),
    "reasons of nodes that are not counted": (UNCOUNTED_TEXTS, UncountedReason),
    "tables of sweeps": (STATUS_TEXTS, TableStatus),
    "unchecked bodies": (UNCHECKED_TEXTS, UncheckedReason),
    "warnings": (WARNINGS, WarningCode),
}


@pytest.mark.parametrize(("table", "codes"), TABLES.values(), ids=TABLES)
def test_a_table_has_an_entry_for_each_code_and_no_other(table: Mapping[str, Any], codes: Any):
    assert set(table) == set(get_args(codes))
