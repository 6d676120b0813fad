"""What cannot be written is said with the remedy that fits."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from irbench.errors import IrbenchError
from irbench.store.files import explained


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (errno.ENOSPC, "Free some space there"),
        (errno.ENOTEMPTY, "Move away what is there"),
        (errno.EACCES, "Change its permissions"),
        (errno.ENOENT, "Check that its folder is there"),
    ],
)
def test_the_remedy_is_that_of_the_error_and_of_what_was_asked(code: int, remedy: str):
    for otherwise, said in (((), "--results"), (("name another file with -o",), "-o")):
        with pytest.raises(IrbenchError, match=os.strerror(code)) as caught, explained(Path("x"), *otherwise):
            raise OSError(code, os.strerror(code))
        assert caught.value.hint.startswith(remedy)
        assert said in caught.value.hint
