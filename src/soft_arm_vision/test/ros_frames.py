"""Camera messages for component tests: valid ones, and ones that no camera should send."""

import numpy as np
from cv_bridge import CvBridge
from rclpy.time import Time
from sensor_msgs.msg import CameraInfo, Image

FRAME = 'camera_color_optical_frame'


def info_of(frame, **changes):
    c = frame.intrinsics
    good = {'width': c.width, 'height': c.height, 'distortion_model': 'plumb_bob', 'd': [0.0] * 5}
    good |= {'k': [c.fx, 0.0, c.cx, 0.0, c.fy, c.cy, 0.0, 0.0, 1.0]}
    return CameraInfo(**good | changes)


def garbage(frame):
    """Camera infos, and pairs of images of one stamp, that no camera should send."""
    bridge, stamps_s = CvBridge(), iter(range(2**31 - 100, 2**31))  # late ones too

    def images(colour=None, depth=None, **changes):
        stamp = Time(seconds=next(stamps_s)).to_msg()
        colour = bridge.cv2_to_imgmsg(frame.colour, 'rgb8') if colour is None else colour
        depth = bridge.cv2_to_imgmsg(frame.depth, '16UC1') if depth is None else depth
        for message in (colour, depth):
            message.header.frame_id = changes.get('frame_id', FRAME)
            message.header.stamp = stamp
        for name, value in changes.items():
            if name != 'frame_id':
                setattr(colour, name, value)
        return colour, depth

    for changes in (
        {'k': [607.3, 0.0, np.nan, 0.0, 607.3, 240.0, 0.0, 0.0, 1.0]},
        {'k': [np.inf, 0.0, 320.0, 0.0, 607.3, 240.0, 0.0, 0.0, 1.0]},
        {'k': [0.0] * 9},
        {'width': 0, 'height': 0},
        {'width': 4_000_000_000},
        {'d': [np.nan] * 5},
        {'d': [0.1] * 3},
        {'distortion_model': 'equidistant'},
    ):
        info = info_of(frame, **changes)
        info.header.frame_id = FRAME
        yield info, images()
    info = info_of(frame)
    info.header.frame_id = FRAME
    three_floats = Image(encoding='32FC3', width=640, height=480, step=640 * 12)
    three_floats.data = bytes(640 * 480 * 12)
    yield info, images(colour=three_floats)
    yield info, images(colour=Image(encoding='rgb8'), depth=Image(encoding='16UC1'))
    yield info, images(depth=bridge.cv2_to_imgmsg(frame.colour, 'rgb8'))
    yield info, images(depth=bridge.cv2_to_imgmsg(frame.colour[..., 0].copy(), 'mono8'))
    yield info, images(frame_id='nonsense')
    yield info, images(encoding='no such')
    yield info, images(step=3)
    yield info, images(step=2**32 - 1)
    yield info, images(width=4_000_000_000)
    yield info, images(data=b'')
