"""Images: colours, patches, projections, crops, boxes that are drawn and boxes that are chosen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.frontends.harness import agree

RNG = np.random.default_rng(0)


def image(*shape: int) -> np.ndarray:
    return RNG.uniform(0, 1, size=shape).astype(np.float32)


GREYS = np.array([[[0, 0, 0], [1, 1, 1], [0.5, 0.5, 0.5], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0.2, 0.2, 0.9]]])


@pytest.mark.parametrize("function", [tf.image.rgb_to_hsv, tf.image.hsv_to_rgb])
def test_colours(function: Any) -> None:
    agree(function, [image(2, 4, 5, 3)], [image(1, 4, 5, 3)])
    agree(function, [GREYS.astype(np.float32)])


@pytest.mark.parametrize("delta", [0.0, 0.3, -0.4, 1.0])
def test_hue(delta: float) -> None:
    agree(lambda x: tf.image.adjust_hue(x, delta), [image(2, 4, 5, 3)], [GREYS.astype(np.float32)[None]])


@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0])
def test_saturation_and_contrast(factor: float) -> None:
    agree(lambda x: tf.image.adjust_saturation(x, factor), [image(2, 4, 5, 3)], [GREYS.astype(np.float32)[None]])
    agree(lambda x: tf.image.adjust_contrast(x, factor), [image(2, 4, 5, 3)], [image(1, 4, 5, 3)])


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("size", "stride", "rate"), [(2, 2, 1), (3, 2, 1), (2, 1, 2), (3, 4, 1)])
def test_patches(padding: str, size: int, stride: int, rate: int) -> None:
    def patches(x: Any) -> Any:
        return tf.image.extract_patches(
            x, [1, size, size, 1], [1, stride, stride, 1], [1, rate, rate, 1], padding=padding
        )

    agree(patches, [image(2, 8, 7, 3)], [image(1, 8, 7, 3)])
    agree(patches, [image(2, 8, 7, 3)], [image(1, 6, 9, 3)])


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_volume_patches(padding: str) -> None:
    agree(
        lambda x: tf.raw_ops.ExtractVolumePatches(
            input=x, ksizes=[1, 2, 3, 2, 1], strides=[1, 2, 1, 2, 1], padding=padding
        ),
        [image(2, 5, 4, 6, 2)],
        [image(1, 5, 4, 6, 2)],
    )


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize("function", [tf.nn.dilation2d, tf.nn.erosion2d])
def test_morphology(padding: str, function: Any) -> None:
    kernel = image(3, 2, 3)
    agree(
        lambda x: function(x, kernel, [1, 2, 1, 1], padding, "NHWC", [1, 1, 2, 1]),
        [image(2, 8, 7, 3)],
        [image(1, 8, 7, 3)],
    )


@pytest.mark.parametrize("interpolation", ["NEAREST", "BILINEAR"])
@pytest.mark.parametrize("fill", ["CONSTANT", "REFLECT", "WRAP", "NEAREST"])
def test_projections(interpolation: str, fill: str) -> None:
    turns = np.array([[0.9, 0.3, -2.25, -0.2, 1.1, 0.5, 0.01, 0.02], [2.5, 0, -11.3, 0, -3.1, 7.7, 0, 0]], np.float32)
    agree(
        lambda x, turns: tf.raw_ops.ImageProjectiveTransformV3(
            images=x,
            transforms=turns,
            output_shape=[6, 8],
            fill_value=0.25,
            interpolation=interpolation,
            fill_mode=fill,
        ),
        [image(2, 5, 7, 3), turns],
        [image(1, 5, 7, 3), turns[:1]],
    )


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(3, 4), (1, 1)])
def test_crops(method: str, size: tuple[int, int]) -> None:
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.1, 0.7, 0.9], [-0.3, 0.2, 1.4, 0.8], [0.8, 0.9, 0.1, 0.2]], np.float32)
    agree(
        lambda x, boxes, which: tf.image.crop_and_resize(x, boxes, which, size, method, 0.5),
        [image(2, 6, 7, 3), boxes, np.array([0, 1, 1, 0], np.int32)],
        [image(1, 6, 7, 3), boxes[:2], np.array([0, 0], np.int32)],
    )


def test_drawn_boxes() -> None:
    boxes = np.array([[[0.1, 0.2, 0.7, 0.9], [0, 0, 1, 1]], [[-0.3, 0.2, 0.4, 1.8], [0.6, 0.6, 0.5, 0.5]]], np.float32)
    agree(
        lambda x, boxes: tf.raw_ops.DrawBoundingBoxes(images=x, boxes=boxes),
        [image(2, 9, 8, 3), boxes],
        [image(1, 9, 8, 3), boxes[:1]],
    )
    colors = image(3, 4)
    agree(lambda x, boxes: tf.image.draw_bounding_boxes(x, boxes, colors), [image(2, 9, 8, 4), boxes])


def candidates(count: int, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    corner = rng.uniform(0, 1, (count, 2))
    boxes = np.concatenate([corner, corner + rng.uniform(0.1, 0.5, (count, 2))], 1).astype(np.float32)
    boxes[::3] = boxes[::3][:, [2, 3, 0, 1]]
    return [boxes, np.round(rng.uniform(0, 1, count), 1).astype(np.float32)]


@pytest.mark.parametrize("threshold", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("most", [0, 3, 50])
def test_non_max_suppression(threshold: float, most: int) -> None:
    agree(lambda b, s: tf.image.non_max_suppression(b, s, most, threshold), candidates(20), candidates(7))
    agree(lambda b, s: tf.image.non_max_suppression(b, s, most, threshold, 0.4), candidates(20), candidates(7))


@pytest.mark.parametrize("pad", [True, False])
@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_non_max_suppression_with_scores(pad: bool, sigma: float) -> None:
    def chosen(boxes: Any, scores: Any) -> Any:
        return tf.raw_ops.NonMaxSuppressionV5(
            boxes=boxes,
            scores=scores,
            max_output_size=12,
            iou_threshold=0.5,
            score_threshold=0.3,
            soft_nms_sigma=sigma,
            pad_to_max_output_size=pad,
        )

    agree(chosen, candidates(20), candidates(7))


@pytest.mark.parametrize("pad", [True, False])
def test_non_max_suppression_padded(pad: bool) -> None:
    agree(
        lambda b, s: tf.raw_ops.NonMaxSuppressionV4(
            boxes=b, scores=s, max_output_size=9, iou_threshold=0.5, score_threshold=0.2, pad_to_max_output_size=pad
        ),
        candidates(20),
        candidates(5),
    )


def test_non_max_suppression_by_overlaps() -> None:
    overlaps = [RNG.uniform(0, 1, (n, n)).astype(np.float32) for n in (9, 4)]
    agree(
        lambda o, s: tf.image.non_max_suppression_overlaps(o, s, 6, 0.6, 0.2),
        *([o, candidates(len(o))[1]] for o in overlaps),
    )


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize(("per_class", "clip"), [(True, True), (False, False)])
def test_combined_non_max_suppression(shared: bool, per_class: bool, clip: bool) -> None:
    def sample(batch: int) -> list[np.ndarray]:
        rng = np.random.default_rng(batch)
        boxes = np.stack(
            [np.stack([candidates(11, 3 * b + c)[0] for c in range(1 if shared else 3)], 1) for b in range(batch)]
        )
        return [boxes, rng.uniform(0, 1, (batch, 11, 3)).astype(np.float32)]

    agree(
        lambda b, s: tf.image.combined_non_max_suppression(b, s, 4, 15, 0.4, 0.2, per_class, clip),
        sample(2),
        sample(1),
    )
