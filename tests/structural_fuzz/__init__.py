"""A fuzzer of everything that irbench reads and did not write: valid files whose values are hostile.

``tests/fuzz.py`` breaks the bytes of model files; this one keeps the form and changes what it says. Each kind of file
has a maker in :mod:`structural_fuzz.cases`, which writes a file and says what is called with it. What a call may lead
to is in :mod:`structural_fuzz.judging`.

A maker draws from a generator of random numbers and from nothing else, so equal generators make equal files. The fast
tests give it one of hypothesis, which shrinks what fails, the command line one with a seed, and ``--guided`` one that
atheris scripts, which looks at the lines that are reached.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))  # the modules of tests, where pytest did not put them
