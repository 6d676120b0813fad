"""Check that infer.py answers as it did when it was measured, and about as fast.

    python check.py                 # exit code 0: outputs and speed agree; 1: they do not
    python check.py --no-speed      # outputs alone
    python check.py --tolerance 1   # a call may take up to twice the time that was measured

Inputs, expected outputs and what was measured are in the folder check/.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import platform
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).resolve().parent
WARM_UP_S, TIMED_S, FEWEST_CALLS = 1.0, 3.0, 10
OVERHEAD_MS = 0.2  # of a call: what Python adds around very short inferences
LEAST_LARGEST = 1e-3  # what the largest value of an output is taken for at least, relative to that of the inputs

infer: Any = importlib.import_module("infer")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-speed", action="store_true", help="check the outputs alone")
    parser.add_argument(
        "--tolerance", type=float, default=0.3, help="by which fraction it may be slower (default: %(default)s)"
    )
    arguments = parser.parse_args()
    measured = json.loads((FOLDER / "check" / "measured.json").read_text(encoding="utf-8"))
    agrees = check_files(measured["files"])
    if not measured["calls"]:
        print("outputs: not checked, no reference could compute the expected ones")
    try:
        model = infer.open_model()
        agrees &= check_outputs(model, measured) if measured["calls"] else True
        if not arguments.no_speed:
            agrees &= check_speed(model, measured, arguments.tolerance)
    except Exception as error:  # what a runtime raises of a graph that it cannot run
        print(f"infer.py fails: {type(error).__name__}: {error}")
        return 1
    return 0 if agrees else 1


def check_files(digests: dict[str, str]) -> bool:
    """Return whether the files of the model are those that were measured."""
    agrees = True
    for name, expected in digests.items():
        path = FOLDER / name
        if not path.is_file():
            print(f"{name}: missing")
            return False
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != expected:
            print(f"{name}: another file than was measured (SHA-256 {found[:16]}..., measured {expected[:16]}...)")
            agrees = False
    if agrees:
        print(f"model: the {'file that was' if len(digests) == 1 else 'files that were'} measured")
    return agrees


def read_arrays(name: str) -> list[Any]:
    with np.load(FOLDER / "check" / name, allow_pickle=False) as archive:
        arrays = [archive[str(place)] for place in range(len(archive.files))]
    # texts are stored without pickles, and runtimes accept them as objects
    return [array.astype(object) if array.dtype.kind == "U" else array for array in arrays]


def stored_inputs(call: int) -> dict[str, Any]:
    return dict(zip(infer.INPUTS, read_arrays(f"inputs-{call}.npz"), strict=True))


def check_outputs(model: Any, measured: dict[str, Any]) -> bool:
    """Return whether the outputs of the stored inputs are the expected ones, within the tolerance that was used."""
    calls = range(measured["calls"])
    if measured["feedback"]:
        outputs = loop_outputs(model, measured)
    elif hasattr(infer, "run_all"):
        outputs = infer.run_all(model, [stored_inputs(call) for call in calls])
    else:
        caller = infer.Caller(model)
        outputs = [infer.call(caller, stored_inputs(call)) for call in calls]
    errors = []
    for call, answer in zip(calls, outputs, strict=True):
        expected = read_arrays(f"expected-{call}.npz")
        try:
            compare = generation_error if measured["kind"] == "generation" else largest_error
            errors.append(compare([np.asarray(output) for output in answer], expected, measured["scale"]))
        except ValueError as error:
            print(f"outputs differ from {measured['reference']}: {error}")
            return False
    worst, tolerance = max(errors), float(measured["tolerance"])
    agrees = worst <= tolerance
    word = "agree with" if agrees else "differ from"
    print(f"outputs {word} {measured['reference']}: max_rel {worst:.2g}, tolerance {tolerance:g}{was(measured)}")
    return agrees


def was(measured: dict[str, Any]) -> str:
    return "" if measured["max_rel"] is None else f", {measured['max_rel']:.2g} when it was measured"


def loop_outputs(model: Any, measured: dict[str, Any]) -> list[Any]:
    """Return the outputs of calls of which each is given outputs of the one before."""
    caller, inputs, outputs = infer.Caller(model), stored_inputs(0), []
    for _ in range(measured["calls"]):
        outputs.append([np.array(output) for output in infer.call(caller, inputs)])
        by_name = dict(zip(infer.OUTPUTS, outputs[-1], strict=True))
        inputs = {**inputs, **{name: by_name[output] for name, output in measured["feedback"].items()}}
    return outputs


def largest_error(outputs: Sequence[Any], expected: Sequence[Any], scale: float) -> float:
    """Return how far outputs are off, each relative to its own largest value."""
    if len(outputs) != len(expected):
        raise ValueError(f"{len(outputs)} outputs instead of {len(expected)}")
    return max(output_error(*pair, scale) for pair in zip(outputs, expected, strict=True))


def output_error(output: Any, expected: Any, scale: float) -> float:
    if output.shape != expected.shape:
        raise ValueError(f"shape {output.shape} instead of {expected.shape}")
    if expected.dtype.kind not in "fc":  # integers, booleans and texts have no rounding errors
        return float(not np.array_equal(output, expected))
    kind = np.complex128 if expected.dtype.kind == "c" else np.float64
    actual, right = output.astype(kind).ravel(), expected.astype(kind).ravel()
    finite = np.isfinite(actual) & np.isfinite(right)
    if not np.array_equal(actual[~finite], right[~finite], equal_nan=True):
        raise ValueError("values that are not finite, where the expected ones are, or the reverse")
    largest = np.abs(right[finite]).max(initial=0.0)
    return float(np.abs(actual[finite] - right[finite]).max(initial=0.0) / max(largest, LEAST_LARGEST * scale))


def generation_error(outputs: Sequence[Any], expected: Sequence[Any], _scale: float) -> float:
    """Return how much less likely the first token that differs is than the expected one, relative to the logits."""
    tokens, (right, top_logits, top_tokens, *_) = outputs[0], expected
    if tokens.shape != right.shape:
        raise ValueError(f"tokens of shape {tokens.shape} instead of {right.shape}")
    errors = [0.0]
    for sample, differs in enumerate(tokens != right):
        if differs.any():
            first = int(differs.argmax())
            print(f"sample {sample}: token {first} is {tokens[sample, first]} instead of {right[sample, first]}")
            logits = top_logits[sample, first].astype(np.float64)
            places = np.flatnonzero(top_tokens[sample, first] == tokens[sample, first])
            gap = logits[0] - logits[places[0]] if places.size else np.inf
            errors.append(float(gap / (np.abs(logits).max() or 1.0)))
    return max(errors)


def check_speed(model: Any, measured: dict[str, Any], tolerance: float) -> bool:
    """Return whether it is at most so much slower than when it was measured; always on another processor."""
    speed = measured["speed"]
    inputs = stored_inputs(0)
    if speed["unit"] == "ms":
        found = call_ms(model, inputs)
        now_ms, then_ms = found, speed["value"]
    else:
        found = samples_per_s(model, inputs, measured["batch"])
        now_ms, then_ms = (1e3 * measured["batch"] / rate for rate in (found, speed["value"]))
    times = now_ms / then_ms
    interval = "" if speed["low"] is None else f" [{speed['low']:.4g}, {speed['high']:.4g}]"
    text = f"{found:.4g} {speed['unit']}, measured {speed['value']:.4g}{interval}: {times:.2f} times the time"
    here = processor()
    if measured["processor"] and here and here != measured["processor"]:
        print(f"speed: {text}; not compared, since that was on another processor: {measured['processor']}")
        return True
    if speed["low"] is None:
        slowest_ms = then_ms
    else:
        slowest_ms = speed["high"] if speed["unit"] == "ms" else 1e3 * measured["batch"] / speed["low"]
    most_ms = max((1 + tolerance) * then_ms, slowest_ms, then_ms + OVERHEAD_MS)
    agrees = bool(now_ms <= most_ms)
    print(f"speed {'agrees' if agrees else 'differs'}: {text}, at most {most_ms / then_ms:.2f} times agrees")
    return agrees


def call_ms(model: Any, inputs: dict[str, Any]) -> float:
    """Return the median time of a call in milliseconds, without bringing inputs and outputs to their places."""
    caller = infer.Caller(model)
    caller.stage(inputs)
    repeat(caller.run, WARM_UP_S)
    return 1e3 * float(np.median(repeat(caller.run, TIMED_S)))


def samples_per_s(model: Any, inputs: dict[str, Any], batch: int) -> float:
    """Return how many samples per second are answered with several inferences in flight."""
    infer.run_all(model, [inputs] * FEWEST_CALLS)
    (once_s,) = repeat(lambda: infer.run_all(model, [inputs] * FEWEST_CALLS), 0.0, fewest=1)
    calls = max(FEWEST_CALLS, round(FEWEST_CALLS * TIMED_S / once_s))
    return batch * calls / float(np.median(repeat(lambda: infer.run_all(model, [inputs] * calls), 0.0, fewest=3)))


def repeat(call: Callable[[], object], seconds: float, fewest: int = FEWEST_CALLS) -> list[float]:
    """Return how long each call took, in seconds."""
    durations: list[float] = []
    begun = time.perf_counter()
    while len(durations) < fewest or time.perf_counter() - begun < seconds:
        started = time.perf_counter()
        call()
        durations.append(time.perf_counter() - started)
    return durations


def processor() -> str:
    """Return what this machine's processor is called; empty where that is not known."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")


if __name__ == "__main__":
    sys.exit(main())
