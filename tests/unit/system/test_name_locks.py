"""A name has one living holder on a machine."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid

import pytest

from irbench.system.locks import hold_name, wait_for_name

HOLDER = """
import sys
from irbench.system.locks import hold_name
hold_name(sys.argv[1])
print(flush=True)
sys.stdin.read()
"""


@pytest.fixture
def name() -> str:
    return f"a test {uuid.uuid4()}"


def test_a_name_is_held_until_it_is_let_go(name: str):
    held = hold_name(name)
    with pytest.raises(BlockingIOError):
        hold_name(name)
    os.close(hold_name(f"{name}, another"))
    os.close(held)
    os.close(hold_name(name))


def test_a_name_is_free_when_its_holder_was_killed(name: str):
    command = [sys.executable, "-c", HOLDER, name]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(BlockingIOError):
            hold_name(name)
        holder.kill()
        os.close(wait_for_name(name))


def test_whoever_waits_goes_on_when_the_name_is_released(name: str):
    waited: list[str] = []
    held = hold_name(name)

    def wait() -> None:
        os.close(wait_for_name(name))
        waited.append("second")

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for thread in threads:
        thread.start()
    threads[0].join(0.1)
    waited.append("first")
    os.close(held)
    for thread in threads:
        thread.join()
    assert waited == ["first", "second", "second", "second"]
