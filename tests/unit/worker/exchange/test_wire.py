"""Messages that another version of Python can read."""

from __future__ import annotations

import pickletools
import socket
from pathlib import Path
from typing import Any

import numpy as np

from irbench.spec import Artifact
from irbench.worker.exchange.wire import Channel, unpickled


def received(message: object) -> tuple[Any, bytes]:
    """Send a message over a connection, and return it as it arrives, and its bytes."""
    here, there = socket.socketpair()
    sender, receiver = Channel(here), Channel(there)
    sender.send(message)
    sent = there.recv(1 << 20, socket.MSG_PEEK)
    while not receiver.complete:
        receiver.take_in(wait=True)
    sender.close()
    answer = unpickled(receiver.next())
    receiver.close()
    return answer, sent


def test_a_message_arrives_as_it_was_sent() -> None:
    artifact = Artifact("onnx", Path("/models/a.onnx"), (), ())
    answer, _ = received((artifact, [np.arange(3, dtype=np.int64)], {"a": None}))
    assert answer[0] == artifact
    assert answer[1][0].tolist() == [0, 1, 2]
    assert answer[2] == {"a": None}


def test_a_path_names_no_module_of_the_standard_library() -> None:
    """Its class is in pathlib._local in Python 3.13, and in pathlib before and after."""
    _, sent = received(Path("/models/a.onnx"))
    names = [argument for _, argument, _ in pickletools.genops(sent[8:]) if isinstance(argument, str)]
    assert not [name for name in names if name.startswith("pathlib")]


def test_the_format_is_one_that_every_supported_python_reads() -> None:
    _, sent = received({"a": 1})
    assert sent[8:10] == b"\x80\x04"
