"""A model server of a stranger: descriptions, answers and statistics with hostile values in valid places."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Mapping
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

from irbench.spec import Artifact, TensorSpec
from irbench.worker.own_code.inference_server import ServedModel

from .altered_documents import altered, json_bytes
from .hostile_values import is_seldom

_MODEL = "/v2/models/net"
_ARTIFACT = Artifact(
    "onnx",
    Path(),
    (TensorSpec("x", "float32", (1, 2)), TensorSpec("text", "string", (1,))),
    (TensorSpec("y", "float32", (1, 2)), TensorSpec("words", "string", (2,))),
)
_OUTPUTS = (
    {"name": "y", "datatype": "FP32", "shape": [1, 2], "data": [1.0, 2.0]},
    {"name": "words", "datatype": "BYTES", "shape": [2], "data": ["a", "b"]},
)
_SIZES = ({"binary_data_size": 8}, {"binary_data_size": 10})
_BEHIND = np.ones(2, np.float32).tobytes() + b"\1\0\0\0a\1\0\0\0b"
_TIMES = ("success", "queue", "compute_input", "compute_infer", "compute_output")


def altered_answers(chance: random.Random) -> dict[str, tuple[bytes, str | None]]:
    """Return what a server answers, by the path: a body, and how long it says that its JSON is."""
    binary = is_seldom(chance, 2)
    specs = {"inputs": _ARTIFACT.inputs, "outputs": _ARTIFACT.outputs}
    names = {"float32": "FP32", "string": "BYTES"}
    described: dict[str, Any] = {
        part: [{"name": spec.name, "datatype": names[spec.dtype], "shape": list(spec.shape)} for spec in own]
        for part, own in specs.items()
    }
    outputs = [
        {**{key: value for key, value in output.items() if key != "data" or not binary}, "parameters": size}
        if binary
        else output
        for output, size in zip(_OUTPUTS, _SIZES, strict=True)
    ]
    statistics = {"inference_stats": {name: {"count": 3, "ns": 5} for name in _TIMES}}
    documents: dict[str, Any] = {
        "/v2": {"name": "server", "extensions": ["statistics", *["binary_tensor_data"] * binary]},
        _MODEL: {"name": "net", **described},
        f"{_MODEL}/infer": {"outputs": outputs},
        f"{_MODEL}/stats": {"model_stats": [statistics]},
    }
    hostile = chance.choice(list(documents))
    answers: dict[str, tuple[bytes, str | None]] = {}
    for path, document in documents.items():
        is_hostile = path == hostile
        body = json_bytes(altered(document, chance), chance) if is_hostile else json.dumps(document).encode()
        has_tail = binary and path.endswith("infer")
        length = str(len(body)) if has_tail else None
        if is_hostile and is_seldom(chance, 8):
            length = chance.choice(("-1", "", "1e3", "9" * 200, "0", str(2 * len(body))))
        answers[path] = body + _BEHIND * has_tail, length
    return answers


def call_server(answers: Mapping[str, tuple[bytes, str | None]]) -> None:
    """Do what a row does with a server: ask it for its model, infer, and ask for its times."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            body, length = answers[self.path]
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            if length is not None:
                self.send_header("Inference-Header-Content-Length", length)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.do_GET()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        with closing(ServedModel(f"http://127.0.0.1:{server.server_port}{_MODEL}")) as model:
            model.require(_ARTIFACT)
            model.times()
            feed = {"x": np.ones((1, 2), np.float32), "text": np.array(["a"], object)}
            model.decode(model.send(model.encode(feed)))
    finally:
        server.shutdown()
        server.server_close()
