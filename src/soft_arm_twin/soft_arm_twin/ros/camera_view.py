"""Images and point clouds of the cameras in a graph.

Images are large, and `tip_tracker` draws its overlay only for a subscriber; therefore topics are
subscribed to only when selected.
"""

import time

import numpy as np
from rclpy.subscription import Subscription
from sensor_msgs.msg import CameraInfo, Image

from soft_arm_node_kit import qos
from soft_arm_twin.controls import Choice, Control
from soft_arm_twin.graph.depth_cloud import colours_by_depth, depth_points
from soft_arm_twin.graph.pictures import jpeg_data, pixels_of
from soft_arm_twin.ros.live_graph import LiveGraph
from soft_arm_twin.source import Answer, Cloud, Jpeg

NONE = 'none'
IMAGE_PERIOD_S, CLOUD_PERIOD_S = 0.2, 0.1
IMAGE_TYPE = 'sensor_msgs/msg/Image'


class CameraView:
    """Displayed image and cloud.

    Args:
        graph: The session.
    """

    def __init__(self, graph: LiveGraph):
        self._graph = graph
        self.image: Jpeg | None = None
        self.cloud: Cloud | None = None
        self._chosen = {'camera/image': NONE, 'camera/cloud': NONE}
        self._subscriptions: dict[str, list[Subscription]] = {}
        self._k: np.ndarray | None = None

    def controls(self) -> tuple[Control, ...]:
        """Return the choices of image and cloud; empty without cameras."""
        types = self._graph.node.get_topic_names_and_types()
        images = [name for name, kinds in types if IMAGE_TYPE in kinds]
        depth = tuple(sorted(name for name in images if 'depth' in name))
        colour = tuple(sorted(set(images) - set(depth)))
        rows = (
            ('camera/image', 'Picture', colour),
            ('camera/cloud', 'Point cloud of', depth),
        )
        return tuple(
            Choice(
                name=name,
                label=label,
                group='camera',
                options=(NONE, *options),
                value=self._chosen[name] if self._chosen[name] in options else NONE,
            )
            for name, label, options in rows
            if options
        )

    def command(self, name: str, value: str) -> Answer:
        """Select a topic, or none."""
        self._chosen[name] = value
        self._graph.post(lambda: self._choose(name, value))
        return Answer(True)

    def _choose(self, name: str, topic: str) -> None:
        for subscription in self._subscriptions.pop(name, []):
            self._graph.node.destroy_subscription(subscription)
        if name == 'camera/image':
            self.image = None
        else:
            self.cloud = self._k = None
        if topic == NONE:
            return
        create, made = self._graph.node.create_subscription, []
        if name == 'camera/cloud':
            made.append(create(CameraInfo, self._info_of(topic), self._take_info, qos.SENSOR))
            made.append(create(Image, topic, self._take_depth, qos.SENSOR))
        else:
            made.append(create(Image, topic, self._take_image, qos.SENSOR))
        self._subscriptions[name] = made

    def _info_of(self, topic: str) -> str:
        """Return the camera info of a depth image, or of the colour image it is aligned to."""
        known = {name for name, _ in self._graph.node.get_topic_names_and_types()}
        info = f'{topic.rpartition("/")[0]}/camera_info'
        return info if info in known else info.replace('/depth/', '/color/')

    def _take_info(self, message: CameraInfo) -> None:
        self._k = np.reshape(message.k, (3, 3))

    def _take_image(self, message: Image) -> None:
        now_s = time.monotonic()
        if self.image is not None and now_s - self.image.stamp_s < IMAGE_PERIOD_S:
            return
        data = jpeg_data(message)
        if data is None:
            return
        number = 1 if self.image is None else self.image.number + 1
        self.image = Jpeg(number, now_s, data)

    def _take_depth(self, message: Image) -> None:
        now_s, pixels = time.monotonic(), pixels_of(message)
        if self.cloud is not None and now_s - self.cloud.stamp_s < CLOUD_PERIOD_S:
            return
        T = self._graph.known.frames.pose(message.header.frame_id)
        if pixels is None or pixels.ndim != 2 or self._k is None or T is None:
            return
        points_m = depth_points(pixels, self._k)
        number = 1 if self.cloud is None else self.cloud.number + 1
        world_m = points_m @ T[:3, :3].T + T[:3, 3]
        self.cloud = Cloud(number, now_s, world_m, colours_by_depth(points_m[:, 2]))
