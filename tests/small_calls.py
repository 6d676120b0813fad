"""Commands of documents with the least work that still does what they say: a full run would take minutes.

As a program it is what a document that a test follows finds as ``irbench``: it makes a call small, does it, and notes
its exit code in the file that the variable ``IRBENCH_CALLS`` names.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

FIRST_RUN = "irbench run resnet50"
"""The one call that keeps every default, so every backend."""
SMALL_MODEL = "cnn_cifar10"
_LARGE_MODELS = re.compile(r"\b(resnet50|mobilenet_v2)\b")

_LESS = {
    "irbench serve": "--backends ort --for 1s --budget 20s",
    "irbench corun": "--backends ort --intensity 100 --quick --budget 20s",
    "irbench profile": "--launches 1",
    "irbench gate": "--budget 5s",
    "irbench replay": "--quick --budget 5s",
    "irbench tune-training": "--samples 200 --budget 10s",
}


def in_small(command: str) -> str:
    """Return a command with the least work that still does what it says."""
    is_first = command == FIRST_RUN
    command = _LARGE_MODELS.sub(SMALL_MODEL, command)
    if command.startswith("irbench soak"):
        return re.sub(r"--for \S+", "--for 2s --backends ort,openvino", command)
    for beginning, less in _LESS.items():
        if command.startswith(beginning):
            return f"{command} {less}"
    if command.startswith("irbench tune"):
        within = re.sub(r"--max-latency \S+", "--max-latency 10s", command)  # on any machine
        return f"{within} --budget 10s --batch 1 --optimize none --backends ort"
    if command.startswith("irbench train"):
        return f"{re.sub(' --(xla|prefetch) [^ ]+', '', command)} --samples 200 --launches 1"
    if not command.startswith("irbench run"):
        return command.replace(" --confirm", "")  # which measures as long as the run did
    if not (is_first or "--backends" in command or ".onnx" in command):
        command += " --backends ort,openvino"
    command = command.replace(" --thorough", "")
    return f"{command} {'' if '--quick' in command else '--quick'} --budget 5s"


def main() -> int:
    """Do the call of this process in small."""
    words = shlex.split(in_small(shlex.join(["irbench", *sys.argv[1:]])))
    code = subprocess.run([sys.executable, "-P", "-m", *words]).returncode
    with Path(os.environ["IRBENCH_CALLS"]).open("a") as calls:
        print(json.dumps({"code": code, "arguments": words[1:]}), file=calls)
    return code


if __name__ == "__main__":
    sys.exit(main())
