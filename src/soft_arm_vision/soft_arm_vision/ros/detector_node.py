"""Base class of nodes that detect something in RGB-D pairs."""

from collections.abc import Callable
from typing import Any

import numpy as np
from cv_bridge import CvBridge
from sensor_msgs.msg import Image
from std_msgs.msg import Header

from soft_arm_node_kit import diagnostics, qos
from soft_arm_node_kit.node import Node
from soft_arm_node_kit.ticker import Answers
from soft_arm_vision.errors import VisionError
from soft_arm_vision.frames import Frame
from soft_arm_vision.ros.camera_input import CameraInput

SAY_EVERY_S = 5.0
SILENT_S = 0.5  # time without a pair of images that is an error
COMPILING_S = 2.0  # time at work on one pair: it is the first one, and numba compiles


class DetectorNode(Node):
    """Stores the newest pair of images; a separate thread processes it.

    In: `color/camera_info`, `color/image_raw`, and depth of the same instants. Out:
    `~/debug/overlay`, and /diagnostics. With `use_sim_time` no pair is dropped, and each is
    answered on /clock_answers with its stamp when the work on it is done.

    Attributes:
        trouble: Why nothing was detected last.
        found, frames: Ticked with every detection, and with every pair of images.
    """

    def __init__(self, name: str):
        super().__init__(name)
        self.trouble = 'no camera info yet'
        self.found, self.frames = (diagnostics.RateMeter(self.now_s) for _ in range(2))
        self._bridge = CvBridge()
        self._overlay = self.create_publisher(Image, '~/debug/overlay', qos.IMAGE)

    def start(
        self,
        on_frame: Callable[[Header, Frame], None],
        what: str,
        stale_s: float,
        robot: str,
        **options: Any,
    ) -> None:
        """Subscribe to the camera, as the last step of construction.

        Args:
            on_frame: Called in the thread with the header and the frame of every pair of images
                that can be used.
            what: What is detected, such as 'ring'.
            stale_s: Age of the newest detection that is an error [s].
            robot: Hardware id in /diagnostics.
            options: Of `CameraInput`.
        """
        self._what, self._stale_s = what, stale_s
        in_step = self.get_parameter('use_sim_time').value
        answers = Answers(self) if in_step else None

        def work(header: Header, frame: Frame | VisionError) -> None:
            self.frames.tick()
            if isinstance(frame, VisionError):
                self.refuse(frame)
            else:
                on_frame(header, frame)
            if answers is not None:
                answers.done_until(header.stamp)

        self._input = CameraInput(self, work, keep_all=in_step, **options)
        self._reporter = diagnostics.Reporter(self, robot, self.status)

    def destroy_node(self):
        """Stop the thread, then the node."""
        self._input.pair.close()
        super().destroy_node()

    def refuse(self, reason: VisionError) -> None:
        """Say once in a while why a message was left out."""
        self.trouble = str(reason)
        self.get_logger().warning(self.trouble, throttle_duration_sec=SAY_EVERY_S)

    @property
    def overlay_wanted(self) -> bool:
        """Whether someone listens to `~/debug/overlay`."""
        return self._overlay.get_subscription_count() > 0

    def publish_overlay(self, picture: np.ndarray, header) -> None:
        """Publish a picture (h, w, 3), RGB, on `~/debug/overlay`."""
        self._overlay.publish(self._bridge.cv2_to_imgmsg(picture, 'rgb8', header))

    def status(self):
        """Return level, message and values for /diagnostics."""
        if not self._input.pair.alive:
            raise RuntimeError('the detector thread has ended; its error stands above')
        age_s, busy_s = self.found.age_s, self._input.pair.busy_s
        values = {
            'detection_rate_hz': self.found.rate_hz,
            'frame_rate_hz': self.frames.rate_hz,
            'age_s': 'none' if age_s is None else age_s,
            'pairs_skipped': self._input.pair.skipped,
        }
        if busy_s > COMPILING_S:
            compiling = (
                f'compiling: the first {self._what} after an installation takes a minute or two, '
                'later ones do not'
            )
            self.get_logger().info(compiling, once=True)
            return (
                diagnostics.WARN,
                f'{compiling}; {busy_s:.0f} s so far',
                values | {'ready': False, 'remedy': 'wait: it compiles once after an installation'},
            )
        if self.frames.age_s is None or self.frames.age_s > SILENT_S:
            no_pairs = 'no pairs of colour and depth: is the camera running with align_depth?'
            values['remedy'] = 'check that the camera runs with aligned depth'
            return diagnostics.ERROR, self._input.pair.trouble or no_pairs, values
        if age_s is None or age_s > self._stale_s:
            values['remedy'] = (
                'see the debug overlay: check light, occlusion, other objects of that colour, '
                'and the colours and markers in the robot file'
            )
            # Without trouble the newest frame had one: frames are rare or late.
            why = self.trouble or f'none in the last {self._stale_s:g} s'
            return diagnostics.ERROR, f'{self._what} lost: {why}', values
        return diagnostics.OK, f'{self._what} in view', values
