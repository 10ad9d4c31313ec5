"""ImageDecoder on files written here, byte by byte: what is kept without loss comes out to the bit."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable

import numpy as np
import pytest

from tests.grid.harness import make_model
from trueport.backend import TensorFlowRep, prepare


def pixels(height: int, width: int, channels: int = 3) -> np.ndarray:
    return np.random.default_rng(height).integers(0, 256, (height, width, channels)).astype(np.uint8)


def ppm(image: np.ndarray) -> bytes:
    height, width, _ = image.shape
    return b"P6 # a comment\n# another, with 7 8 9\n%d\t%d\n255\n" % (width, height) + image.tobytes()


def png(image: np.ndarray) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def bmp(image: np.ndarray) -> bytes:
    """Rows from the last to the first, blue before green before red, each row a multiple of four bytes."""
    height, width, _ = image.shape
    rows = b"".join(row[:, ::-1].tobytes() + bytes(-3 * width % 4) for row in image[::-1])
    info = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 24, 0, len(rows), 0, 0, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54 + len(rows), 0, 0, 54) + info + rows


def tiff(image: np.ndarray, order: str = "<", compression: int = 1, rows: int = 2) -> bytes:
    """Strips of a few rows; ``order`` as in struct."""
    height, width, samples = image.shape
    strips = [image[start : start + rows].tobytes() for start in range(0, height, rows)]
    starts = np.cumsum([8, *(len(strip) for strip in strips)])
    depths = struct.pack(f"{order}3H", 8, 8, 8)
    listed = struct.pack(f"{order}{len(strips)}I", *starts[:-1])
    at_depths = int(starts[-1])
    at_listed = at_depths + len(depths)
    fields = [
        (256, 4, 1, width),
        (257, 4, 1, height),
        (258, 3, samples, at_depths if samples == 3 else 8),
        (259, 3, 1, compression),
        (273, 4, len(strips), at_listed if len(strips) > 1 else 8),
        (277, 3, 1, samples),
        (278, 4, 1, rows),
    ]
    body = b"".join(
        struct.pack(f"{order}HHI", tag, kind, count)
        + struct.pack(
            f"{order}HH" if kind == 3 and count == 1 else f"{order}I", value, *[0] * (kind == 3 and count == 1)
        )
        for tag, kind, count, value in fields
    )
    directory = struct.pack(f"{order}H", len(fields)) + body + bytes(4)
    mark = b"II*\0" if order == "<" else b"MM\0*"
    data = b"".join(strips) + depths + listed
    return mark + struct.pack(f"{order}I", 8 + len(data)) + data + directory


def decoder(pixel_format: str = "RGB") -> TensorFlowRep:
    return prepare(make_model("ImageDecoder", [[np.zeros(4, np.uint8)]], pixel_format=pixel_format))


def decoded(model: TensorFlowRep, content: bytes) -> np.ndarray:
    (image,) = model.run([np.frombuffer(content, np.uint8)])
    assert image.dtype == np.uint8
    return image


WRITERS = {"ppm": ppm, "png": png, "bmp": bmp, "tiff": tiff, "tiff, big-endian": lambda image: tiff(image, ">")}


@pytest.mark.parametrize("write", WRITERS.values(), ids=WRITERS)
def test_image_of_every_format(write: Callable[[np.ndarray], bytes]) -> None:
    model = decoder()
    for image in (pixels(5, 7), pixels(1, 1), pixels(8, 2)):
        assert np.array_equal(decoded(model, write(image)), image)


def test_image_with_channels_reversed() -> None:
    image = pixels(5, 7)
    assert np.array_equal(decoded(decoder("BGR"), png(image)), image[..., ::-1])


def test_image_in_gray() -> None:
    """ITU-R 601 luma, rounded."""
    image = pixels(5, 7)
    luma = np.rint(image @ np.array([0.299, 0.587, 0.114]))[..., np.newaxis]
    assert np.array_equal(decoded(decoder("Grayscale"), png(image)), luma.astype(np.uint8))


def test_gray_files() -> None:
    image = pixels(5, 7, 1)
    model = decoder()
    for content in (b"P5 7 5 255\n" + image.tobytes(), tiff(image)):
        assert np.array_equal(decoded(model, content), np.repeat(image, 3, 2))


def test_samples_of_less_than_a_byte_are_scaled() -> None:
    image = pixels(5, 7, 1) % 16
    assert np.array_equal(decoded(decoder(), b"P5 7 5 15\n" + image.tobytes()), np.repeat(image * 17, 3, 2))


@pytest.mark.parametrize(
    "content",
    [b"", b"no image", b"\0\0\0\x0cjP  \r\n\x87\n", b"P3 1 1 255\n1 2 3\n", tiff(pixels(4, 4), compression=5)],
    ids=["nothing", "text", "JPEG 2000", "PNM in letters", "compressed TIFF"],
)
def test_what_is_not_read_is_empty(content: bytes) -> None:
    """The declared loss: when it goes, the declaration has to go with it."""
    assert decoded(decoder(), content).shape == (0, 0, 3)
    assert decoded(decoder("Grayscale"), content).shape == (0, 0, 1)
