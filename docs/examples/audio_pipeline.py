"""A WAV file in, a class out: samples, frames and a log-mel spectrogram in NumPy, as the stages of a row of irbench.

SOUND=command.wav irbench run keywords.onnx --backends ort --cell service=docs/examples/audio_pipeline.py:stages

The file has one channel of 16 bits. The model takes a spectrogram of shape 1 x bands x frames.
"""

import io
import os
import wave
from pathlib import Path

import numpy as np

WINDOW_S, STEP_S = 0.025, 0.010


def stages(cell):
    """Return the stages in order; each is given what the one before it returned."""
    (shape,) = cell.shapes.values()
    bands, frames = shape[1:]
    content = Path(os.environ["SOUND"]).read_bytes()  # once: a service gets its sounds by the network
    rate = read(content)[0]
    window = np.hanning(round(WINDOW_S * rate)).astype(np.float32)
    step = round(STEP_S * rate)
    bank = mel_bank(bands, window.size, rate)

    def decode(_inputs):  # irbench's inputs, which this row does not need
        return read(content)[1]

    def spectra(samples):
        padded = np.pad(samples, (0, max(0, window.size + frames * step - samples.size)))
        windows = np.lib.stride_tricks.sliding_window_view(padded, window.size)[: frames * step : step]
        return np.abs(np.fft.rfft(windows * window, axis=1)) ** 2

    def mel(powers):
        return np.log(powers @ bank.T + 1e-6).astype(np.float32).T[None]

    return {
        "decode": decode,
        "spectra": spectra,
        "mel": mel,
        "model": os.environ.get("BACKEND", "ort"),
        "classify": classify,
    }


def read(content):
    """Return the samples in a second, and the samples between -1 and 1."""
    with wave.open(io.BytesIO(content)) as sound:
        samples = np.frombuffer(sound.readframes(sound.getnframes()), "<i2")
        return sound.getframerate(), samples.astype(np.float32) / 32768


def mel_bank(bands, window, rate):
    """Return triangles that are equally wide in mels (2595 log10(1 + Hz / 700)): bands x frequencies."""
    mels = np.linspace(0, 2595 * np.log10(1 + rate / 2 / 700), bands + 2)
    edges = 700 * (10 ** (mels / 2595) - 1)
    low, centre, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    hertz = np.fft.rfftfreq(window, 1 / rate)
    rising, falling = (hertz - low) / (centre - low), (high - hertz) / (high - centre)
    return np.maximum(0, np.minimum(rising, falling)).astype(np.float32)


def classify(outputs):
    """Find the class; what a last stage returns would be compared with the outputs of the model."""
    classify.answer = int(outputs[0][0].argmax())
