"""A model server as a row: the Open Inference Protocol, version 2, over HTTP.

Specification: https://github.com/kserve/open-inference-protocol, ``protocol/inference_rest.md``. Tensors are JSON, or
bytes behind the JSON where the server lists the extension ``binary_tensor_data`` (Triton and OpenVINO Model Server do).
Its own statistics are those of the extension ``statistics``: github.com/triton-inference-server/server,
``docs/protocol/extension_statistics.md``.
"""

from __future__ import annotations

import http.client
import math
import threading
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import numpy as np

from irbench.core.quantities import listing
from irbench.core.record import ServerTimes
from irbench.errors import IrbenchError, first_line
from irbench.spec import Artifact, Load, Program
from irbench.spi import Array, Availability, Description, Phases, Session
from irbench.worker.own_code.sessions import PipelineSession, Stage

STAGES = ("encode", "server", "decode")
"""Parts of each call: the request written, the server's answer awaited and read, and the answer as arrays."""
_TIMEOUT_S = 120.0
_LENGTH_HEADER = "Inference-Header-Content-Length"
_BINARY = "binary_tensor_data"
_STATISTICS = "statistics"
_COMPUTE = ("compute_input", "compute_infer", "compute_output")
_DTYPES: Mapping[str, str] = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64",
    "FP16": "float16", "FP32": "float32", "FP64": "float64",
}  # fmt: skip
"""Names of NumPy by those of the protocol."""
_NAMES = {numpy_name: name for name, numpy_name in _DTYPES.items()}


class ServerBackend:
    """Sends inferences to a model server that runs already."""

    consumes = ("onnx", "tf-graph")

    def __init__(self, name: str, program: Program) -> None:
        self.name = name
        self._url = program.target

    def describe(self) -> Description:
        """Say what answers; nothing is known of its runtime."""
        return Description(self.name, self._url, version=None)

    def probe(self) -> Availability:
        """Say that it runs somewhere; nothing is known of its precisions."""
        return Availability(("cpu",), {}, {}, {})

    def import_runtime(self, load: Load, device: str) -> None:
        """Import nothing: the server has the runtime."""

    def compile(self, artifact: Artifact, load: Load, device: str, phases: Phases) -> Session:
        """Ask the server for its model, and make a session that calls it.

        Raises:
            IrbenchError: The server cannot be reached, or has another model than the row's.
        """
        with phases("compile"):
            model = ServedModel(self._url)
            model.require(artifact)
        return ServerSession(model, artifact, load, device)


class ServerSession(PipelineSession):
    """Calls of a model server as stages, and what the server says of them."""

    def __init__(self, model: ServedModel, artifact: Artifact, load: Load, device: str) -> None:
        stages: dict[str, Stage] = dict(zip(STAGES, (model.encode, model.send, model.decode), strict=True))
        super().__init__(stages, artifact, load, device)
        self._model = model

    def server_times(self) -> ServerTimes | None:
        """Return the sums over all answers of the server so far; ``None`` where it does not tell."""
        return self._model.times()


class Message(NamedTuple):
    """A request or an answer.

    Attributes:
        body: JSON, and the bytes of tensors behind it.
        json_bytes: How long the JSON is; ``None`` where it is all.
    """

    body: bytes
    json_bytes: int | None = None


class ServedModel:
    """A model of a server.

    Args:
        url: ``http://host:port/v2/models/NAME``, with ``/versions/VERSION`` where one is meant.

    Attributes:
        inputs: Data types of the protocol, by the names of the model's inputs.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._url = url
        self._secure = parts.scheme == "https"
        self._host, self._path = parts.netloc, parts.path.rstrip("/")
        self._own = threading.local()
        server = self._asked("/v2")
        extensions = server.get("extensions", ())
        self._is_binary, self._tells_times = _BINARY in extensions, _STATISTICS in extensions
        described = self._asked(self._path)
        self.inputs: Mapping[str, str] = {
            tensor["name"]: tensor["datatype"] for tensor in described.get("inputs") or ()
        }

    def require(self, artifact: Artifact) -> None:
        """Refuse a row whose inputs the model does not take; a server that does not describe its model is believed."""
        asked = [spec.name for spec in artifact.inputs]
        if self.inputs and set(asked) != set(self.inputs):
            raise IrbenchError(
                f"The model of {self._url} takes {listing(self.inputs)}, and not {listing(asked)}.",
                hint="Measure the model that the server has: its file is the model of the run.",
            )

    def encode(self, feed: Mapping[str, Array]) -> Message:
        """Return the request of an inference."""
        tensors: list[dict[str, Any]] = []
        data: list[bytes] = []
        for name, array in feed.items():
            datatype = _NAMES.get(array.dtype.name)
            if datatype is None:
                raise IrbenchError(f"The protocol of model servers has no {array.dtype.name}, as {name} is.")
            tensor: dict[str, Any] = {"name": name, "shape": array.shape, "datatype": datatype}
            if self._is_binary:
                data.append(array.tobytes())
                tensor["parameters"] = {"binary_data_size": len(data[-1])}
            else:
                tensor["data"] = array.ravel().tolist()
            tensors.append(tensor)
        request: dict[str, Any] = {"inputs": tensors}
        if not self._is_binary:
            return Message(msgspec.json.encode(request))
        head = msgspec.json.encode({**request, "parameters": {"binary_data_output": True}})
        return Message(b"".join((head, *data)), len(head))

    def send(self, request: Message) -> Message:
        """Return the server's answer."""
        headers = {"Content-Type": "application/json"}
        if request.json_bytes is not None:
            headers = {"Content-Type": "application/octet-stream", _LENGTH_HEADER: str(request.json_bytes)}
        return self._exchange("POST", f"{self._path}/infer", request.body, headers)

    def decode(self, answer: Message) -> dict[str, Array]:
        """Return the outputs of an answer by their names."""
        head = answer.body if answer.json_bytes is None else answer.body[: answer.json_bytes]
        place = len(head)
        outputs: dict[str, Array] = {}
        for tensor in _decoded(head, self._url).get("outputs", ()):
            dtype, shape = np.dtype(_DTYPES[tensor["datatype"]]), tuple(tensor["shape"])
            size = tensor.get("parameters", {}).get("binary_data_size")
            if size is None:
                outputs[tensor["name"]] = np.asarray(tensor["data"], dtype).reshape(shape)
            else:
                count = math.prod(shape)
                outputs[tensor["name"]] = np.frombuffer(answer.body, dtype, count, place).reshape(shape)
                place += size
        return outputs

    def times(self) -> ServerTimes | None:
        """Return what the server counted of the model so far, by the extension ``statistics`` of Triton."""
        if not self._tells_times:
            return None
        try:
            (own, *_) = self._asked(f"{self._path}/stats")["model_stats"]
            sums = {name: (part["count"], part["ns"]) for name, part in own["inference_stats"].items()}
            compute_ns = sum(sums[name][1] for name in _COMPUTE)
            return ServerTimes(int(sums["success"][0]), int(sums["queue"][1]), int(compute_ns))
        except (IrbenchError, KeyError, TypeError, ValueError):  # it lists the extension, and has no such figures
            return None

    def _asked(self, path: str) -> dict[str, Any]:
        return _decoded(self._exchange("GET", path).body, self._url)

    def _exchange(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}) -> Message:
        """Send a request on the connection of this thread, which stays open, and return the answer."""
        try:
            connection = self._connection()
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as error:
            self._own.connection = None
            raise IrbenchError(
                f"The server of {self._url} did not answer: {first_line(error)}.",
                hint="Start it, or correct its address: http://host:port/v2/models/NAME",
            ) from error
        if answer.status != http.client.OK:
            raise IrbenchError(
                f"The server of {self._url} answered {answer.status} {answer.reason}: {_said(text)}",
                hint=f"Look at what it has: curl {self._url}",
            )
        length = answer.getheader(_LENGTH_HEADER)
        return Message(text, None if length is None else int(length))

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = self._own.connection = kind(self._host, timeout=_TIMEOUT_S)
        return connection


def _decoded(text: bytes, url: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.MsgspecError as error:
        raise IrbenchError(
            f"The server of {url} does not answer as the Open Inference Protocol asks: {first_line(error)}.",
            hint="Give the address of a model: http://host:port/v2/models/NAME",
        ) from error


def _said(text: bytes) -> str:
    try:
        said: object = msgspec.json.decode(text).get("error", "")
    except (msgspec.MsgspecError, AttributeError):
        said = text[:200].decode(errors="replace")
    return f"{said or 'no reason'}".splitlines()[0]
