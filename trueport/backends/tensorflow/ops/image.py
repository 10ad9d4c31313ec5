"""Image files."""

from __future__ import annotations

from trueport.backends.tensorflow._tf import tf
from trueport.backends.tensorflow.build.context import Emission, Tensor
from trueport.backends.tensorflow.kernels.pixmaps import is_plain_tiff, read_pnm, read_tiff, starts_with
from trueport.fidelity import LOSSY
from trueport.mapping.declare import maps

__all__: list[str] = []


@maps(
    "ImageDecoder",
    audited=20,
    fidelity=LOSSY,
    because="TensorFlow decodes no JPEG 2000 and only uncompressed TIFF and binary PNM: others give an empty image; "
    "a damaged file stops the run instead of giving one",
)
def image_decoder(t: Emission, encoded_stream: Tensor, *, pixel_format: str) -> Tensor:
    data = tf.reshape(encoded_stream, [-1])
    content = tf.strings.reduce_join(tf.gather(tf.constant([bytes([i]) for i in range(256)]), tf.cast(data, tf.int32)))
    nothing = tf.zeros([0, 0, 3], tf.uint8)
    # Marks are looked for in order; the last entry's reader serves when none fits.
    image = tf.case(
        [
            (starts_with(data, b"\xff\xd8\xff"), lambda: _jpeg(content)),
            (starts_with(data, b"BM", b"\x89PNG", b"GIF8", b"RIFF"), lambda: _native(content)),
            (starts_with(data, b"P5", b"P6"), lambda: read_pnm(data)),
            (
                starts_with(data, b"II*\0", b"MM\0*"),
                lambda: tf.cond(is_plain_tiff(data), lambda: read_tiff(data), lambda: nothing),
            ),
        ],
        default=lambda: nothing,
    )
    image.set_shape([None, None, 3])
    if pixel_format == "Grayscale":
        return _gray(image)
    return image[..., ::-1] if pixel_format == "BGR" else image


def _jpeg(content: Tensor) -> Tensor:
    """With libjpeg's exact transform and smooth chroma, as the specification describes it."""
    return tf.io.decode_jpeg(content, channels=3, fancy_upscaling=True, dct_method="INTEGER_ACCURATE")


def _native(content: Tensor) -> Tensor:
    return tf.io.decode_image(content, channels=3, expand_animations=False)


def _gray(image: Tensor) -> Tensor:
    """ITU-R 601 luma in 16-bit fixed point, rounded."""
    weighted = tf.cast(image, tf.int32) * tf.constant([19595, 38470, 7471])
    total = tf.reduce_sum(weighted, -1, keepdims=True) + 0x8000
    return tf.cast(tf.bitwise.right_shift(total, 16), tf.uint8)
