"""A model server of the Open Inference Protocol on this machine, which answers as ONNX's reference does."""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

_NAMES = {"float32": "FP32", "int64": "INT64"}
_DTYPES = {name: dtype for dtype, name in _NAMES.items()}
_LENGTH = "Inference-Header-Content-Length"


@contextmanager
def model_server(
    model: Path,
    *,
    binary: bool = False,
    wrong_after: float = math.inf,
    statistics: bool = False,
    refuses: Callable[[int], bool] = lambda _: False,
) -> Iterator[str]:
    """Serve a model, and yield its address.

    Args:
        model: An ONNX file.
        binary: Whether tensors are sent as bytes behind the JSON.
        wrong_after: After how many inferences answers are off.
        refuses: Whether an inference is refused, by its number from 1, as of a server whose queue is full.
        statistics: Whether it counts its answers as Triton does: each waits 2 ms and computes 3 ms, so it says.
    """
    extensions = [*["binary_tensor_data"] * binary, *["statistics"] * statistics]
    answered: list[None] = []
    graph = onnx.load(model)
    evaluator = ReferenceEvaluator(graph)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            inputs = [{"name": each.name, "datatype": "FP32", "shape": [-1]} for each in graph.graph.input]
            stats = {"model_stats": [{"name": "net", "inference_stats": _counted(len(answered))}]}
            pages: dict[str, dict[str, Any]] = {
                "/v2": {"name": "test", "extensions": extensions},
                "/v2/models/net": {"name": "net", "inputs": inputs},
                **({"/v2/models/net/stats": stats} if statistics else {}),
            }
            page = pages.get(self.path)
            self._answer(page or {"error": f"there is no {self.path}"}, status=200 if page else 404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            self._infer(_tensors(body, int(self.headers.get(_LENGTH, len(body)))))

        def _infer(self, feed: dict[str, Any]) -> None:
            answered.append(None)
            if refuses(len(answered)):
                self._answer({"error": "Exceeds maximum queue size"}, status=503)
                return
            answers = evaluator.run(None, feed)
            error = 1 if len(answered) > wrong_after else 0
            self._answer(*_message(graph, answers, error, binary=binary))

        def _answer(self, document: dict[str, Any], data: bytes = b"", status: int = 200) -> None:
            head = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(head) + len(data)))
            if data:
                self.send_header(_LENGTH, str(len(head)))
            self.end_headers()
            self.wfile.write(head + data)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v2/models/net"
    finally:
        server.shutdown()
        server.server_close()


def _counted(answers: int) -> dict[str, Any]:
    each_ms = {"success": 5, "queue": 2, "compute_input": 1, "compute_infer": 1.5, "compute_output": 0.5}
    return {name: {"count": answers, "ns": round(answers * ms * 1e6)} for name, ms in each_ms.items()}


def _tensors(body: bytes, json_bytes: int) -> dict[str, Any]:
    place, tensors = json_bytes, dict[str, Any]()
    for tensor in json.loads(body[:json_bytes])["inputs"]:
        dtype = np.dtype(_DTYPES[tensor["datatype"]])
        if "data" in tensor:
            values = np.array(tensor["data"], dtype)
        else:
            size = tensor["parameters"]["binary_data_size"]
            values = np.frombuffer(body[place : place + size], dtype)
            place += size
        tensors[tensor["name"]] = values.reshape(tensor["shape"])
    return tensors


def _message(graph: onnx.ModelProto, right: list[Any], error: int, *, binary: bool) -> tuple[dict[str, Any], bytes]:
    answers = [np.asarray(answer) + error for answer in right]
    names = [spec.name for spec in graph.graph.output]
    outputs = [_described(*each, binary=binary) for each in zip(names, answers, strict=True)]
    data = b"".join(answer.tobytes() for answer in answers) if binary else b""
    return {"model_name": "net", "outputs": outputs}, data


def _described(name: str, answer: Any, *, binary: bool) -> dict[str, Any]:
    data = {"parameters": {"binary_data_size": answer.nbytes}} if binary else {"data": answer.ravel().tolist()}
    return {"name": name, "shape": list(answer.shape), "datatype": _NAMES[answer.dtype.name], **data}
