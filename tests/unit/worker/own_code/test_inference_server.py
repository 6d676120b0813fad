"""The client of model servers, against servers of a few lines that answer what a test writes."""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from irbench.errors import IrbenchError, RequestRefused
from irbench.spec import Artifact, Load, TensorSpec
from irbench.worker.inference import Retries
from irbench.worker.own_code.inference_server import ServedModel, ServerSession

FLOATS = TensorSpec("x", "float32", (1, 2))
RESULT = TensorSpec("y", "float32", (1, 2))
TEXTS = ["r\u00e9sum\u00e9", ""]


class Served:
    """What a server answers, and what it was asked.

    Attributes:
        model: Its description of the model.
        extensions: That it lists.
        infer: Answers an inference: is given the handler and the body.
        requests: How many inferences it was asked for.
    """

    def __init__(self, infer: Callable[[Any, bytes], None], model: dict[str, Any] | None = None, *extensions: str):
        self.infer, self.extensions, self.requests = infer, extensions, 0
        self.model = {"name": "net", **(model or {})}
        self.bodies: list[bytes] = []


@contextmanager
def serving(served: Served) -> Iterator[ServedModel]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            answer(self, {"extensions": served.extensions} if self.path == "/v2" else served.model)

        def do_POST(self) -> None:
            served.requests += 1
            served.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            served.infer(self, served.bodies[-1])

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with closing(ServedModel(f"http://127.0.0.1:{server.server_port}/v2/models/net")) as model:
            yield model
    finally:
        server.shutdown()
        server.server_close()


def answer(
    handler: Any, document: object, status: int = 200, data: bytes = b"", retry_after: str | None = None
) -> None:
    head = json.dumps(document).encode()
    handler.send_response(status)
    if retry_after is not None:
        handler.send_header("Retry-After", retry_after)
    handler.send_header("Content-Length", str(len(head) + len(data)))
    if data:
        handler.send_header("Inference-Header-Content-Length", str(len(head)))
    handler.end_headers()
    handler.wfile.write(head + data)


def outputs(datatype: str, data: list[object], **rest: Any) -> dict[str, Any]:
    return {"outputs": [{"name": "y", "datatype": datatype, "shape": [1, len(data)], "data": data, **rest}]}


def right(handler: Any, _: bytes = b"") -> None:
    answer(handler, outputs("FP32", [1.0, 2.0]))


def full(handler: Any, _: bytes) -> None:
    answer(handler, {"error": "Exceeds maximum queue size"}, 503)


def artifact(taken: TensorSpec = FLOATS, given: TensorSpec = RESULT) -> Artifact:
    return Artifact("onnx", Path(), (taken,), (given,))


def inferred(model: ServedModel, **feed: Any) -> Any:
    arrays = feed or {"x": np.ones((1, 2), np.float32)}
    return model.decode(model.send(model.encode(arrays)))["y"]


def test_a_connection_that_the_server_closed_while_it_was_idle_is_opened_again() -> None:
    def infer(handler: Any, _: bytes) -> None:
        right(handler)
        handler.close_connection = True  # without a word, as of a time-out

    served = Served(infer)
    with serving(served) as model:
        for _ in range(3):
            assert inferred(model).tolist() == [[1, 2]]
    assert served.requests == 3


def test_a_server_that_never_answers_is_asked_again_once_at_most() -> None:
    def infer(handler: Any, _: bytes) -> None:
        handler.connection.close()
        handler.close_connection = True

    served = Served(infer)
    with serving(served) as model, pytest.raises(IrbenchError, match="did not answer"):
        inferred(model)
    assert served.requests == 2


@pytest.mark.parametrize("error", [BrokenPipeError, ConnectionResetError, ssl.SSLEOFError, ssl.SSLZeroReturnError])
@pytest.mark.parametrize("place", ["send", "recv"])
def test_an_idle_connection_may_have_ended_in_any_way(
    error: type[OSError], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = Served(right)
    with serving(served) as model:
        failing = model._connection().sock
        own = {"send": socket.socket.sendall, "recv": socket.socket.recv_into}[place]

        def once(sock: socket.socket, *arguments: Any) -> Any:
            if sock is failing:
                raise error("it is closed")
            return own(sock, *arguments)

        monkeypatch.setattr(socket.socket, own.__name__, once)
        assert inferred(model).tolist() == [[1, 2]]


def test_a_request_is_not_repeated_whose_response_had_begun() -> None:
    def infer(handler: Any, _: bytes) -> None:
        handler.connection.sendall(b"HTTP/1.1 200 OK\r\nContent-")
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        handler.connection.close()  # is a reset
        handler.close_connection = True

    served = Served(infer)
    with serving(served) as model, pytest.raises(IrbenchError, match="did not answer"):
        inferred(model)
    assert served.requests == 1


@pytest.mark.parametrize("status", [503, 429])
def test_a_server_that_limits_its_requests_refuses_one(status: int) -> None:
    served = Served(lambda handler, _: answer(handler, {"error": "Exceeds maximum queue size"}, status))
    with serving(served) as model:
        with pytest.raises(RequestRefused, match=f"{status} .*Exceeds maximum queue size"):
            inferred(model)
        served.infer = right
        assert inferred(model).tolist() == [[1, 2]]


def test_a_refused_call_has_no_outputs_not_even_those_of_the_call_before() -> None:
    served = Served(right)
    with serving(served) as model:
        (slot,) = ServerSession(model, artifact(), Load(), "cpu").open_slots(1, "copy")
        slot.stage((np.ones((1, 2), np.float32),))
        slot.run()
        assert np.array_equal(slot.fetch()[0], [[1, 2]])
        served.infer = full
        with pytest.raises(RequestRefused):
            slot.run()
        assert not slot.fetch()


@pytest.mark.parametrize(
    ("said", "waits_s"), [(None, [0.05, 0.1]), ("2", [2, 2]), ("3600", [5, 5]), ("soon", [0.05, 0.1])]
)
def test_a_refused_call_is_repeated_when_the_server_says_or_soon(
    said: str | None, waits_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr("irbench.worker.inference.sleep", waited.append)

    def infer(handler: Any, _: bytes) -> None:
        answer(handler, {}, 503, retry_after=said) if served.requests < 3 else right(handler)

    served = Served(infer)
    with serving(served) as model:
        session = ServerSession(model, artifact(), Load(), "cpu")
        session.retries = Retries()
        (slot,) = session.open_slots(1, "copy")
        slot.stage((np.ones((1, 2), np.float32),))
        slot.run()
        assert np.array_equal(slot.fetch()[0], [[1, 2]])
    assert waited == waits_s
    assert session.retries.refused == 2


def test_another_error_is_no_refused_request() -> None:
    served = Served(lambda handler, _: answer(handler, {"error": "bad shape"}, 400))
    with serving(served) as model, pytest.raises(IrbenchError, match=r"400 .*bad shape") as caught:
        inferred(model)
    assert not isinstance(caught.value, RequestRefused)


@pytest.mark.parametrize("texts", [TEXTS, [text.encode() for text in TEXTS]], ids=["str", "bytes"])
def test_texts_travel_as_bytes_in_json(texts: list[Any]) -> None:
    def infer(handler: Any, body: bytes) -> None:
        (tensor,) = json.loads(body)["inputs"]
        answer(handler, outputs(tensor["datatype"], tensor["data"]))

    with serving(Served(infer)) as model:
        given = inferred(model, x=np.array([texts], object))
    assert (given.tolist(), given.dtype) == ([TEXTS], object)


def test_texts_travel_as_bytes_behind_the_json() -> None:
    expected = b"".join(struct.pack("<I", len(text.encode())) + text.encode() for text in TEXTS)

    def infer(handler: Any, body: bytes) -> None:
        assert body.endswith(expected)
        tensor = {"name": "y", "datatype": "BYTES", "shape": [2], "parameters": {"binary_data_size": len(expected)}}
        answer(handler, {"outputs": [tensor]}, data=expected)

    with serving(Served(infer, None, "binary_tensor_data")) as model:
        assert inferred(model, x=np.array(TEXTS, object)).tolist() == TEXTS


@pytest.mark.parametrize(
    ("described", "row", "words"),
    [
        ({}, artifact(TensorSpec("x", "bfloat16", (1,))), "no bfloat16, as x is"),
        ({"inputs": [{"name": "x", "datatype": "FP16"}]}, artifact(), "takes x as FP16, and .* as FP32"),
        ({"outputs": [{"name": "y", "datatype": "BF16"}]}, artifact(), "gives y as BF16, which irbench does not read"),
        ({"inputs": [{"name": "z", "datatype": "FP32"}]}, artifact(), "takes z, and not x"),
    ],
)
def test_a_data_type_that_does_not_fit_is_refused_before_any_call(
    described: dict[str, Any], row: Artifact, words: str
) -> None:
    served = Served(right, described)
    with serving(served) as model, pytest.raises(IrbenchError, match=words) as caught:
        model.require(row)
    assert caught.value.hint
    assert not served.requests


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (outputs("COMPLEX64", [1, 2]), "gives y as COMPLEX64"),
        (outputs("FP32", ["one", "two"]), "ValueError"),
        (outputs("FP32", [1, 2, 3], shape=[1, 2]), "ValueError"),
        (outputs("FP32", [1], parameters={"binary_data_size": 2}), "ValueError"),
        (outputs("BYTES", ["a"], parameters={"binary_data_size": 2}), "ValueError"),
        ({"outputs": [{"name": "y"}]}, "KeyError: 'datatype'"),
        ({"outputs": 7}, "TypeError"),
        ([1], "Expected `object`"),
    ],
)
def test_an_answer_that_is_none_is_a_reason_and_no_traceback(document: object, words: str) -> None:
    served = Served(lambda handler, _: answer(handler, document))
    with serving(served) as model, pytest.raises(IrbenchError, match=words):
        inferred(model)


def test_a_description_that_is_none_is_a_reason_and_no_traceback() -> None:
    served = Served(right, {"inputs": [{"name": "x"}]})
    with pytest.raises(IrbenchError, match="KeyError: 'datatype'"), serving(served):
        pass


def endless(handler: Any, _: bytes) -> None:
    handler.send_response(200)
    handler.end_headers()
    handler.close_connection = True
    with suppress(OSError):  # the client goes away
        while True:
            handler.wfile.write(b" " * 65536)


def claimed(handler: Any, _: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", str(1 << 40))
    handler.end_headers()
    endless(handler, b"")


def chunked(handler: Any, _: bytes) -> None:
    handler.send_response(200)
    handler.send_header("Transfer-Encoding", "chunked")
    handler.end_headers()
    handler.close_connection = True
    with suppress(OSError):  # the client goes away
        while True:
            handler.wfile.write(b"10000\r\n" + b" " * 65536 + b"\r\n")


@pytest.mark.parametrize("infer", [endless, claimed, chunked])
def test_an_answer_without_an_end_is_read_as_far_as_outputs_reach(infer: Callable[[Any, bytes], None]) -> None:
    served = Served(infer)
    with serving(served) as model:
        model.require(artifact())
        with pytest.raises(IrbenchError, match=r"more than 1,048,704 bytes"):
            inferred(model)
        served.infer = right
        assert inferred(model).tolist() == [[1, 2]]


def test_an_error_and_a_description_have_an_end_too() -> None:
    served = Served(right, {"note": " " * (1 << 21)})
    with pytest.raises(IrbenchError, match="more than 1,048,576 bytes"), serving(served):
        pass


def test_an_answer_of_the_largest_numbers_in_json_is_not_too_large() -> None:
    values = np.full((1, 100_000), -1.2345678901234567e-300)
    row = artifact(given=TensorSpec("y", "float64", values.shape))
    with serving(Served(lambda handler, _: answer(handler, outputs("FP64", values[0].tolist())))) as model:
        model.require(row)
        assert np.array_equal(inferred(model), values)


def test_an_answer_that_ends_before_its_length_did_not_come() -> None:
    def infer(handler: Any, _: bytes) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "500")
        handler.end_headers()
        handler.wfile.write(b"{")
        handler.close_connection = True

    with serving(Served(infer)) as model, pytest.raises(IrbenchError, match="IncompleteRead"):
        inferred(model)
