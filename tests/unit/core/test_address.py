"""A backend's address is read and written in one way."""

from __future__ import annotations

import pytest

from irbench.core.address import BackendAddress


@pytest.mark.parametrize(
    ("text", "name", "device"),
    [("ort", "ort", "cpu"), ("ort:cuda", "ort", "cuda"), (" ort:cpu ", "ort", "cpu"), ("ort:", "ort", "")],
)
def test_an_address_names_a_backend_and_a_device(text: str, name: str, device: str):
    address = BackendAddress.parse(text)
    assert (address.name, address.device) == (name, device)


@pytest.mark.parametrize("text", ["ort", "ort:cuda", "openvino:gpu"])
def test_an_address_is_written_as_it_is_read(text: str):
    assert str(BackendAddress.parse(text)) == text


def test_the_cpu_is_not_written():
    assert str(BackendAddress.parse("ort:cpu")) == "ort"


def test_an_address_unpacks_to_name_and_device():
    name, device = BackendAddress("tf", "gpu")
    assert (name, device) == ("tf", "gpu")
