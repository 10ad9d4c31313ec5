"""The short-time Fourier transform in NumPy: ONNX's reference goes frame by frame and takes no signal of rank 2."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

__all__ = ["stft"]


def stft(
    signal: np.ndarray,
    frame_step: np.ndarray,
    window: np.ndarray | None,
    frame_length: np.ndarray | None,
    *,
    onesided: int,
) -> np.ndarray | None:
    """Transform ``signal[batch, length]``, ``[batch, length, 1]`` or, complex, ``[batch, length, 2]``."""
    if frame_length is None and window is None:
        return None
    length = int(frame_length.reshape(-1)[0]) if frame_length is not None else len(window)  # type: ignore[arg-type]
    is_complex = signal.ndim == 3 and signal.shape[2] == 2
    flat = signal[..., 0] + 1j * signal[..., 1] if is_complex else signal.reshape(signal.shape[:2])
    if flat.shape[1] < length or (onesided and is_complex):
        return None
    frames = sliding_window_view(flat, length, axis=1)[:, :: int(frame_step.reshape(-1)[0])]
    taken = frames if window is None else frames * window
    made = np.fft.rfft(taken) if onesided else np.fft.fft(taken)
    return np.stack([made.real, made.imag], axis=-1)
