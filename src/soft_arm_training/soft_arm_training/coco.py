"""COCO-style data sets on disk: images, instance masks, and optionally depth.

Labels of a laboratory come in the same way: any COCO instance file (polygons, run lengths as a
list or as a string) in the folder of its pictures. Its categories have the names of the
classes to be trained.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NotRequired

import cv2
import numpy as np
from pycocotools import mask as cocomask
from pydantic import Field, FiniteFloat, NonNegativeInt
from typing_extensions import TypedDict

from soft_arm_calibration.bags.run_lengths import mask_of_runs, run_lengths
from soft_arm_io.yaml_file import YamlFileError, read_json, shown
from soft_arm_vision.errors import VisionError

LABELS = 'instances.json'
_Pixel = Annotated[FiniteFloat, Field(ge=-1e5, le=1e5)]


class _Category(TypedDict):
    id: int
    name: str


class _Image(TypedDict):
    id: int
    file_name: str
    depth_file_name: NotRequired[str | None]


class _RunLengths(TypedDict):
    size: Annotated[list[int], Field(min_length=2, max_length=2)]
    counts: list[NonNegativeInt] | str


class _Annotation(TypedDict):
    image_id: int
    category_id: int
    segmentation: _RunLengths | list[list[_Pixel]]
    iscrowd: NotRequired[int | bool]
    visible_share: NotRequired[Annotated[FiniteFloat, Field(ge=0, le=1)]]


class _File(TypedDict):
    categories: list[_Category]
    images: list[_Image]
    annotations: list[_Annotation]


@dataclass(frozen=True, eq=False)
class Sample:
    """One labelled picture.

    Attributes:
        rgb: Shape (h, w, 3), uint8.
        masks: One per instance, shape (n, h, w), bool.
        classes: Index of each instance's class, shape (n,), int.
        depth: Shape (h, w), uint16 mm, 0 = none; None where there is no depth.
        visible_share: Of each instance, shape (n,); 1 where nothing is said.
        T_optical_ring: Pose of a rendered ring, shape (4, 4), not written to disk; else None.
    """

    rgb: np.ndarray
    masks: np.ndarray
    classes: np.ndarray
    depth: np.ndarray | None = None
    visible_share: np.ndarray | None = None
    T_optical_ring: np.ndarray | None = None


def write(folder: Path, samples: Iterable[Sample], classes: tuple[str, ...], info: dict) -> int:
    """Write a data set and return its number of images; the labels are written last."""
    folder.mkdir(parents=True, exist_ok=True)
    images: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for number, sample in enumerate(samples):
        name = f'{number:06d}.png'
        _write_picture(folder / name, sample.rgb[..., ::-1])
        image = {
            'id': number,
            'file_name': name,
            'width': sample.rgb.shape[1],
            'height': sample.rgb.shape[0],
        }
        if sample.depth is not None:
            image['depth_file_name'] = f'{number:06d}_depth_mm.png'
            _write_picture(folder / image['depth_file_name'], sample.depth)
        images.append(image)
        for i, mask in enumerate(sample.masks):
            x, y, width, height = cv2.boundingRect(mask.astype(np.uint8))
            annotation: dict[str, Any] = {
                'id': len(annotations) + 1,
                'image_id': number,
                'category_id': int(sample.classes[i]) + 1,
                'iscrowd': 0,
            }
            annotation |= {
                'segmentation': run_lengths(mask),
                'area': int(mask.sum()),
                'bbox': [x, y, width, height],
            }
            if sample.visible_share is not None:
                annotation['visible_share'] = round(float(sample.visible_share[i]), 4)
            annotations.append(annotation)
    categories = [{'id': i + 1, 'name': name} for i, name in enumerate(classes)]
    text = json.dumps(
        {'info': info, 'categories': categories, 'images': images, 'annotations': annotations}
    )
    (folder / LABELS).write_text(text)
    return len(images)


def read(labels: Path, classes: tuple[str, ...]) -> Iterator[Sample]:
    """Samples of a COCO instance file, or of a folder with `instances.json`, one by one.

    Args:
        labels: The file; pictures are looked for in its folder and in a folder `images` there.
        classes: Names that count; instances of other categories, and crowds, are left out.

    Raises:
        VisionError: If the file is none, or has none of the classes.
    """
    labels = labels / LABELS if labels.is_dir() else labels
    try:
        content = read_json(labels, _File)
    except (OSError, YamlFileError) as error:
        raise VisionError(
            f'{labels} is not a COCO instance file: {getattr(error, "strerror", None) or error}'
        ) from error
    index = {
        c['id']: classes.index(c['name']) for c in content['categories'] if c['name'] in classes
    }
    images = content['images']
    if not index:
        names = sorted(c['name'] for c in content['categories'])
        raise VisionError(
            f'{labels} has categories {shown(names, plain=True)}, none of {list(classes)}: '
            'rename its categories'
        )
    of_image: dict[int, list[dict[str, Any]]] = {image['id']: [] for image in images}
    for annotation in content['annotations']:
        if annotation['image_id'] not in of_image:
            raise VisionError(
                f'{labels}: an annotation is of image {shown(annotation["image_id"])}, '
                'which is not among the images'
            )
        if annotation['category_id'] in index and not annotation.get('iscrowd'):
            of_image[annotation['image_id']].append(annotation)
    for image in images:
        yield _sample(labels.parent, image, of_image[image['id']], index)


def fingerprint(labels: Path) -> str:
    """Hash of a COCO instance file, given by its path or its folder.

    Raises:
        VisionError: If it cannot be read.
    """
    labels = labels / LABELS if labels.is_dir() else labels
    try:
        return hashlib.sha256(labels.read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise VisionError(f'{labels} cannot be read: {error.strerror}') from error


def _sample(folder: Path, image: dict, found: list[dict], index: dict[int, int]) -> Sample:
    picture = _read_picture(folder, image['file_name'], cv2.IMREAD_COLOR)
    shape = picture.shape[:2]
    masks = np.array([mask_of(a['segmentation'], shape) for a in found]).reshape(-1, *shape)
    depth_name = image.get('depth_file_name')
    return Sample(
        np.ascontiguousarray(picture[..., ::-1]),
        masks,
        np.array([index[a['category_id']] for a in found], int),
        None if depth_name is None else _read_picture(folder, depth_name, cv2.IMREAD_UNCHANGED),
        np.array([a.get('visible_share', 1.0) for a in found]),
    )


def mask_of(segmentation: dict | list, shape: tuple[int, int]) -> np.ndarray:
    """Return the mask (h, w) of a COCO segmentation: polygons, or run lengths of either form.

    Raises:
        VisionError: If it does not fit the image.
    """
    if isinstance(segmentation, list):
        if not segmentation or any(len(p) < 6 or len(p) % 2 for p in segmentation):
            raise VisionError(
                'a mask has no polygon, or one with fewer than three corners or with an odd number '
                'of coordinates'
            )
        polygons = cocomask.merge(cocomask.frPyObjects(segmentation, *shape))
        return cocomask.decode(polygons).astype(bool)
    return mask_of_runs(segmentation, shape)


def _write_picture(path: Path, picture: np.ndarray) -> None:
    if not cv2.imwrite(str(path), picture, [cv2.IMWRITE_PNG_COMPRESSION, 1]):
        raise VisionError(f'{path} cannot be written: is the disk full?')


def _read_picture(folder: Path, name: str, mode: int) -> np.ndarray:
    for path in (folder / name, folder / 'images' / name):
        if os.path.isfile(path):
            picture = cv2.imread(str(path), mode)
            if picture is not None:
                return picture
    raise VisionError(
        f'picture {shown(name, plain=True)} is neither in {folder} nor in '
        f'{folder / "images"}, or cannot be read'
    )
