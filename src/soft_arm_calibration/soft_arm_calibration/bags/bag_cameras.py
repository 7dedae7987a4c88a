"""Find the topics of the RGB-D cameras in a bag, by type, content and namespace of the topics."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from soft_arm_vision.compressed_images import COMPRESSED, as_image
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import COLOURS, DEPTHS
from softarm_cli.bags.file import Bag

_INFO = 'sensor_msgs/msg/CameraInfo'
_IMAGES = ('sensor_msgs/msg/Image', COMPRESSED)


@dataclass(frozen=True)
class CameraChoice:
    """Options of the recorded camera; None: found in the bag.

    Attributes:
        colour, depth, info: Full names of its topics.
        is_aligned: Whether depth is aligned to colour; None: decided by frames and camera infos.
    """

    colour: str | None = None
    depth: str | None = None
    info: str | None = None
    is_aligned: bool | None = None


@dataclass(frozen=True)
class CameraTopics:
    """Full names of the topics of one camera, and its frame.

    Attributes:
        colour, depth: Images.
        info: Camera info of the colour images.
        depth_info: Camera info of the depth images; None if the bag has none.
        frame_id: Frame of the camera info.
        is_aligned: See `CameraChoice`.
    """

    colour: str
    depth: str
    info: str
    depth_info: str | None
    frame_id: str
    is_aligned: bool | None = None


def cameras(bag: Bag, choice: CameraChoice = CameraChoice()) -> list[CameraTopics]:  # noqa: B008
    """Return the topics of each camera with colour, depth and camera info, the likeliest first.

    Camera info is the topic `camera_info` in the innermost namespace around the images. Of several
    depth topics, the one in the frame of colour and in the namespaces of colour is taken; colour
    comes before monochrome, and images before compressed ones.

    Raises:
        BagError: If the bag lacks a topic of the choice.
        VisionError: If such a topic is of another type.
    """
    for topic, kinds in (
        (choice.colour, _IMAGES),
        (choice.depth, _IMAGES),
        (choice.info, (_INFO,)),
    ):
        _check(bag, topic, kinds)
    infos: dict[str, Any] = {
        c.topic: next((m for _, _, m in bag.decoded([c])), None)
        for c in bag.connections
        if c.msgtype == _INFO
    }
    found, images = [], _first_images(bag)
    for colour, image in images.items():
        info = choice.info or _info_of(colour, infos)
        if colour != choice.colour and (choice.colour or image.encoding in DEPTHS):
            continue
        if info is None or infos[info] is None:
            continue
        depths = [
            (
                other.header.frame_id == image.header.frame_id,
                _common(colour, depth),
                (other.width, other.height) == (image.width, image.height),
                not hasattr(other, 'format'),
                depth,
            )
            for depth, other in images.items()
            if depth == choice.depth
            or (choice.depth is None and depth != colour and other.encoding in DEPTHS)
        ]
        if depths:
            same_frame, common, *_, depth = max(depths)
            rank = (
                image.encoding not in COLOURS,
                image.encoding.startswith('mono'),
                not same_frame,
                -common,
                hasattr(image, 'format'),
                colour,
            )
            topics = CameraTopics(
                colour,
                depth,
                info,
                _info_of(depth, infos),
                infos[info].header.frame_id,
                choice.is_aligned,
            )
            found.append((rank, topics))
    return [topics for _, topics in sorted(found, key=lambda item: item[0])]


def find_camera(bag: Bag, choice: CameraChoice = CameraChoice()) -> CameraTopics:  # noqa: B008
    """Return the topics of the likeliest camera.

    Raises:
        BagError: As `cameras`.
        VisionError: As `cameras`, and if the bag holds no camera.
    """
    for camera in cameras(bag, choice):
        return camera
    raise VisionError(f'bag {bag.path} {no_camera(bag)}')


def has_images(bag: Bag) -> bool:
    """Return whether a bag has images of any type."""
    return any(c.msgtype.endswith(('Image', 'Packet')) for c in bag.connections)


def no_camera(bag: Bag) -> str:
    """Return why no camera is found in a bag; its image topics are listed on standard error."""
    listed = [
        f'{bag.path}: images {topic} ({image.encoding[:40]})'
        for topic, image in _first_images(bag).items()
    ]
    listed += [
        f'{bag.path}: images {c.topic} ({c.msgtype}: convert by image_transport republish)'
        for c in bag.connections
        if c.msgtype not in _IMAGES and c.msgtype.endswith(('Image', 'Packet'))
    ]
    if not listed:
        return 'holds no images: record with softarm bag record --images -o FOLDER'
    infos = [c.topic for c in bag.connections if c.msgtype == _INFO]
    listed.append(f'{bag.path}: camera infos {", ".join(infos) or "none"}')
    listed.append(
        f'{bag.path}: name those of a camera with --colour-topic, --depth-topic and --info-topic'
    )
    sys.stderr.writelines(f'{line}\n' for line in listed)
    return 'holds images, but no colour with depth and camera info among them'


def _check(bag: Bag, topic: str | None, kinds: tuple[str, ...]) -> None:
    if topic is None:
        return
    held = {connection.topic: connection.msgtype for connection in bag.connections}
    if topic not in held:
        raise bag.missing(topic)
    if held[topic] not in kinds:
        raise VisionError(
            f'{topic} in {bag.path} is of type {held[topic]}, not {" or ".join(kinds)}'
        )


def _first_images(bag: Bag) -> dict[str, Any]:
    """Return the first image of each topic that has one."""
    images = {}
    for connection in bag.connections:
        if connection.msgtype in _IMAGES:
            for _, _, message in bag.decoded([connection]):
                images[connection.topic] = as_image(message)
                break
    return images


def _info_of(topic: str, infos: dict[str, Any]) -> str | None:
    around = (f'{namespace}/camera_info' for namespace in _namespaces(topic))
    return next((name for name in around if name in infos), None)


def _namespaces(topic: str) -> Iterator[str]:
    """Yield the namespaces around a topic, the innermost first."""
    while topic:
        topic = topic.rpartition('/')[0]
        yield topic


def _common(one: str, other: str) -> int:
    """Return the number of namespaces that two topics have in common."""
    return len({*_namespaces(one)} & {*_namespaces(other)})
