"""A model server as a row: the Open Inference Protocol, version 2, over HTTP.

Specification: https://github.com/kserve/open-inference-protocol, ``protocol/inference_rest.md``. Tensors are JSON, or
bytes behind the JSON where the server lists the extension ``binary_tensor_data`` (Triton and OpenVINO Model Server do).
Its own statistics are those of the extension ``statistics``: github.com/triton-inference-server/server,
``docs/protocol/extension_statistics.md``.
"""

from __future__ import annotations

import contextlib
import http.client
import math
import ssl
import struct
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
import numpy as np

from irbench.core.quantities import listing
from irbench.core.record import ServerTimes
from irbench.errors import IrbenchError, RequestRefused, first_line
from irbench.onnx.reading.element_types import STRING
from irbench.spec import Artifact, Load, Program, TensorSpec
from irbench.spi import Array, Availability, Description, Phases, Session
from irbench.worker.inference import Retries
from irbench.worker.own_code.sessions import PipelineSession, Stage

STAGES = ("encode", "server", "decode")
"""Parts of each call: the request written, the server's answer awaited and read, and the answer as arrays."""
_TIMEOUT_S = 120.0
_HEAD_BYTES = 1 << 20
"""What answers have besides outputs: a description of a model, statistics, or the names and shapes of outputs."""
_ELEMENT_BYTES = 64
"""A number takes so much in JSON at most, with what stands between it and the next one."""
_TEXT_BYTES = 1 << 16
_MOST_BYTES = 1 << 30
"""How large outputs may be whose shapes follow from the inputs, or that are larger in JSON."""
_LENGTH_HEADER = "Inference-Header-Content-Length"
_BINARY = "binary_tensor_data"
_STATISTICS = "statistics"
_COMPUTE = ("compute_input", "compute_infer", "compute_output")
_DTYPES: Mapping[str, str] = {
    "BOOL": "bool", "UINT8": "uint8", "UINT16": "uint16", "UINT32": "uint32", "UINT64": "uint64",
    "INT8": "int8", "INT16": "int16", "INT32": "int32", "INT64": "int64",
    "FP16": "float16", "FP32": "float32", "FP64": "float64",
}  # fmt: skip
"""Names of NumPy by those of the protocol, but for texts."""
_TEXTS = "BYTES"
_NAMES = {STRING: _TEXTS, **{numpy_name: name for name, numpy_name in _DTYPES.items()}}
"""Names of the protocol by those of specs."""
_LENGTH_OF_TEXT = struct.Struct("<I")
_REFUSING = (http.client.SERVICE_UNAVAILABLE, http.client.TOO_MANY_REQUESTS)
"""How servers answer that limit how many requests they take at a time."""

_CLOSED = (ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class ServerBackend:
    """Sends inferences to a model server that runs already."""

    consumes = ("onnx",)

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
    """Calls of a model server as stages, and what the server says of them.

    Attributes:
        retries: Repeats refused calls while it is set.
    """

    def __init__(self, model: ServedModel, artifact: Artifact, load: Load, device: str) -> None:
        stages: dict[str, Stage] = dict(zip(STAGES, (model.encode, self._send, model.decode), strict=True))
        super().__init__(stages, artifact, load, device)
        self.retries: Retries | None = None
        self._model = model

    def _send(self, request: Message) -> Message:
        if self.retries is None:
            return self._model.send(request)
        return self.retries.call(partial(self._model.send, request))

    def server_times(self) -> ServerTimes | None:
        """Return the sums over all answers of the server so far; ``None`` where it does not tell."""
        return self._model.times()

    def close(self) -> None:
        """Close the connections."""
        super().close()
        self._model.close()


class Message(NamedTuple):
    """A request or an answer.

    Attributes:
        body: JSON, and the bytes of tensors behind it.
        json_bytes: How long the JSON is; ``None`` where it is all.
    """

    body: bytes
    json_bytes: int | None = None


class _NoAnswer(ConnectionError):
    """A connection ended before the first byte of an answer."""


class _Answer(http.client.HTTPResponse):
    """An answer that tells an end before its first byte from a later one."""

    def begin(self) -> None:
        try:
            begun = self.fp.peek(1)
        except _CLOSED as error:
            raise _NoAnswer(first_line(error)) from error
        if not begun:
            raise _NoAnswer("it closed the connection")
        super().begin()


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
        self._connections: list[http.client.HTTPConnection] = []
        self._most_bytes = _HEAD_BYTES
        try:
            extensions = self._asked("/v2").get("extensions")
            extensions = extensions if isinstance(extensions, list) else []
            self._is_binary, self._tells_times = _BINARY in extensions, _STATISTICS in extensions
            described = self._asked(self._path)
            self.inputs, self._outputs = (_datatypes_of(described, part, url) for part in ("inputs", "outputs"))
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connections of all threads."""
        for connection in self._connections:
            connection.close()

    def require(self, artifact: Artifact) -> None:
        """Refuse a row whose inputs the model does not take; a server that does not describe its model is believed.

        Its answers may be as large as the outputs of the row from now on.

        Raises:
            IrbenchError: Says which name or data type does not fit.
        """
        asked = [spec.name for spec in artifact.inputs]
        if self.inputs and set(asked) != set(self.inputs):
            raise IrbenchError(
                f"The model of {self._url} takes {listing(self.inputs)}, and not {listing(asked)}.",
                hint="Measure the model that the server has: its file is the model of the run.",
            )

        for spec in artifact.inputs:
            own, theirs = _datatype(spec.dtype, spec.name), self.inputs.get(spec.name)
            if theirs not in (None, own):
                raise IrbenchError(
                    f"The model of {self._url} takes {spec.name} as {theirs}, and the model of the run as {own}.",
                    hint="Measure the model that the server has: its file is the model of the run.",
                )
        for name, datatype in self._outputs.items():
            _require_known(datatype, name, self._url)
        self._most_bytes = _HEAD_BYTES + min(_MOST_BYTES, sum(map(_most_bytes, artifact.outputs)))

    def encode(self, feed: Mapping[str, Array]) -> Message:
        """Return the request of an inference."""
        tensors: list[dict[str, Any]] = []
        data: list[bytes] = []
        for name, array in feed.items():
            datatype = _datatype(STRING if array.dtype.kind in "OSU" else array.dtype.name, name)
            tensor: dict[str, Any] = {"name": name, "shape": array.shape, "datatype": datatype}
            if self._is_binary:
                data.append(_bytes_of_texts(array) if datatype == _TEXTS else array.tobytes())
                tensor["parameters"] = {"binary_data_size": len(data[-1])}
            else:
                values = array.ravel().tolist()
                tensor["data"] = [_as_bytes(text).decode() for text in values] if datatype == _TEXTS else values
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
        """Return the outputs of an answer by their names.

        Raises:
            IrbenchError: It is no answer of the protocol, or has a data type that irbench does not read.
        """
        head = answer.body if answer.json_bytes is None else answer.body[: answer.json_bytes]
        try:
            return self._outputs_of(_decoded(head, self._url), answer.body, len(head))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, struct.error) as error:
            raise _not_of_the_protocol(self._url, f"{type(error).__name__}: {first_line(error)}") from error

    def _outputs_of(self, document: Mapping[str, Any], body: bytes, place: int) -> dict[str, Array]:
        """Return the outputs that a document describes; bytes of tensors begin at a place of the body."""
        outputs: dict[str, Array] = {}
        for tensor in document.get("outputs", ()):
            name, datatype, shape = tensor["name"], tensor["datatype"], tuple(tensor["shape"])
            _require_known(datatype, name, self._url)
            dtype = np.dtype(_DTYPES.get(datatype, object))
            size = (tensor.get("parameters") or {}).get("binary_data_size")
            if size is None:
                with np.errstate(over="ignore"):  # such a number is infinite
                    outputs[name] = np.asarray(tensor["data"], dtype).reshape(shape)
                continue
            if datatype == _TEXTS:
                outputs[name] = np.array(_texts_of(body[place : place + size]), object).reshape(shape)
            else:
                outputs[name] = np.frombuffer(body, dtype, math.prod(shape), place).reshape(shape)
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
        except (IrbenchError, KeyError, TypeError, ValueError, AttributeError, OverflowError):
            return None  # it lists the extension, and has no such figures

    def _asked(self, path: str) -> dict[str, Any]:
        return _decoded(self._exchange("GET", path).body, self._url)

    def _exchange(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] = {}) -> Message:
        """Send a request on the connection of this thread, which stays open, and return the answer.

        Raises:
            RequestRefused: The server limits how many requests it takes.
            IrbenchError: It does not answer, or with an error.
        """
        try:
            answer = self._answered(method, path, body, dict(headers))
            text = self._read(answer, self._most_bytes if method == "POST" else _HEAD_BYTES)
        except (OSError, http.client.HTTPException) as error:
            self._connection().close()
            raise IrbenchError(
                f"The server of {self._url} did not answer: {first_line(error)}.",
                hint="Start it, or correct its address: http://host:port/v2/models/NAME",
            ) from error
        if answer.status in _REFUSING:
            raise RequestRefused(
                f"The server of {self._url} refused a request: {answer.status} {answer.reason}: {_said(text)}",
                hint="Raise its limit, or lower --streams. irbench serve counts refused requests.",
                retry_after_s=_seconds(answer.getheader("Retry-After")),
            )
        if answer.status != http.client.OK:
            raise IrbenchError(
                f"The server of {self._url} answered {answer.status} {answer.reason}: {_said(text)}",
                hint=f"Look at what it has: curl {self._url}",
            )
        length = answer.getheader(_LENGTH_HEADER)
        if length is not None and not length.isdecimal():
            raise _not_of_the_protocol(self._url, f"{_LENGTH_HEADER} is {length}")
        return Message(text, None if length is None else int(length))

    def _answered(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> http.client.HTTPResponse:
        """Return the beginning of an answer.

        A server may close a connection that was idle, at any moment: as other clients do, one that was open before is
        opened again once, before any byte of an answer has come. Later the server may have done the work.
        """
        connection = self._connection()
        if connection.sock is not None:
            try:
                connection.request(method, path, body, headers)
            except _CLOSED:
                connection.close()  # a request opens it again
            else:
                with contextlib.suppress(_NoAnswer):  # after which it is closed
                    return connection.getresponse()
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def _read(self, answer: http.client.HTTPResponse, most: int) -> bytes:
        """Return what an answer contains, which has so many bytes at most: it may have no end.

        Raises:
            IrbenchError: It has more.
        """
        if answer.length is None:  # it says no length, or comes in chunks
            text = answer.read(most + 1)
            is_larger = len(text) > most
        else:
            is_larger = answer.length > most
            text = b"" if is_larger else answer.read()
        if is_larger:
            self._connection().close()
            raise IrbenchError(
                f"The response of {self._url} is larger than expected: more than {most:,} bytes.",
                hint=f"Compare the shapes of its outputs with those of the model: curl {self._url}",
            )
        return text

    def _connection(self) -> http.client.HTTPConnection:
        connection: http.client.HTTPConnection | None = getattr(self._own, "connection", None)
        if connection is None:
            kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
            connection = self._own.connection = kind(self._host, timeout=_TIMEOUT_S)
            connection.response_class = _Answer
            self._connections.append(connection)
        return connection


def _decoded(text: bytes, url: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise _not_of_the_protocol(url, first_line(error)) from error


def _not_of_the_protocol(url: str, why: str) -> IrbenchError:
    return IrbenchError(
        f"The server of {url} does not answer as the Open Inference Protocol asks: {why}.",
        hint="Give the address of a model: http://host:port/v2/models/NAME",
    )


def _most_bytes(output: TensorSpec) -> int:
    """Return what an output takes in an answer at most."""
    sizes = [size for size in output.shape if isinstance(size, int)]
    if len(sizes) < len(output.shape):
        return _MOST_BYTES
    return math.prod(sizes) * (_TEXT_BYTES if output.dtype == STRING else _ELEMENT_BYTES)


def _datatypes_of(described: Mapping[str, Any], part: str, url: str) -> dict[str, str]:
    """Return the data types of a model's inputs or outputs by their names; none where they are not described."""
    try:
        return {str(tensor["name"]): str(tensor["datatype"]) for tensor in described.get(part) or ()}
    except (KeyError, TypeError) as error:
        raise _not_of_the_protocol(url, f"{type(error).__name__}: {first_line(error)}") from error


def _datatype(dtype: str, name: str) -> str:
    """Return what the protocol calls the dtype of an input."""
    if dtype not in _NAMES:
        raise IrbenchError(
            f"The protocol of model servers has no {dtype}, as {name} is.",
            hint=f"It has {listing(_NAMES)}: measure a model with inputs of these.",
        )
    return _NAMES[dtype]


def _require_known(datatype: object, name: str, url: str) -> None:
    if datatype != _TEXTS and datatype not in _DTYPES:
        raise IrbenchError(
            f"The model of {url} gives {name} as {datatype}, which irbench does not read.",
            hint=f"It reads {listing((*_DTYPES, _TEXTS))}: convert the output in the model.",
        )


def _as_bytes(text: object) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()


def _bytes_of_texts(texts: Array) -> bytes:
    """Return texts as the extension ``binary_tensor_data`` sends them: each behind its length."""
    encoded = (_as_bytes(text) for text in texts.ravel().tolist())
    return b"".join(_LENGTH_OF_TEXT.pack(len(text)) + text for text in encoded)


def _texts_of(data: bytes) -> list[str]:
    texts: list[str] = []
    place = 0
    while place < len(data):
        (length,) = _LENGTH_OF_TEXT.unpack_from(data, place)
        place += _LENGTH_OF_TEXT.size
        if length > len(data) - place:
            raise ValueError(f"a text of {length} bytes is cut short")
        texts.append(data[place : place + length].decode())
        place += length
    return texts


def _seconds(header: str | None) -> int:
    """Return what ``Retry-After`` says in seconds; 0 where it is absent, or a date, which nobody sends so soon."""
    return int(header) if header is not None and header.isascii() and header.isdecimal() and len(header) < 9 else 0


def _said(text: bytes) -> str:
    try:
        said: object = msgspec.json.decode(text).get("error", "")
    except (msgspec.MsgspecError, AttributeError, UnicodeDecodeError, RecursionError):
        said = text[:200].decode(errors="replace")
    return f"{said or 'no reason'}".splitlines()[0][:200]
