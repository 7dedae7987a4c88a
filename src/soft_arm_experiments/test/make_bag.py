"""Write the short bag of the virtual rig that the tests read.

Run `python test/make_bag.py ../soft_arm_calibration/test/data/virtual_rig_bag`.
"""

import sys
from pathlib import Path

import numpy as np
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import load_robot
from soft_arm_physics.pneumatic_arm import pneumatic_arm
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.parameters import load_calibration_jig
from soft_arm_sim.cameras.random_scenes import scaled_camera

FRAMES, PERIOD_NS, SCALE = 6, 33_333_333, 0.5
NAMES = ('color/image_raw', 'aligned_depth_to_color/image_raw', 'color/camera_info')


def main(path: Path) -> None:
    """Write the bag."""
    robot = load_robot('two_module_arm')
    parameters = scaled_camera(robot, SCALE)
    plant = pneumatic_arm(robot, 1)
    camera = VirtualCamera(robot, parameters, load_calibration_jig(), 1)
    plant.robot.actuate([-96e3, -96e3, -96e3, -20e3, 10e3, -90e3])
    plant.settle()
    plant.robot.actuate([-96e3, -96e3, -96e3, 20e3, 0e3, -60e3])
    store = get_typestore(Stores.ROS2_JAZZY)
    types = store.types
    image = parameters.image
    k = np.array([image.fx_px, 0, image.cx_px, 0, image.fy_px, image.cy_px, 0, 0, 1.0])
    roi = types['sensor_msgs/msg/RegionOfInterest'](0, 0, 0, 0, False)
    bag = Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)
    bag.set_compression(CompressionMode.MESSAGE, CompressionFormat.ZSTD)
    with bag as writer:
        kinds = ('sensor_msgs/msg/Image', 'sensor_msgs/msg/Image', 'sensor_msgs/msg/CameraInfo')
        links = [
            writer.add_connection(f'/camera/camera/{n}', t, typestore=store)
            for n, t in zip(NAMES, kinds, strict=True)
        ]
        truth = writer.add_connection(
            '/virtual_rig/debug/tip_truth', 'geometry_msgs/msg/PoseStamped', typestore=store
        )
        for number in range(FRAMES):
            plant.step(PERIOD_NS * 1e-9)
            shot = camera.capture(plant.robot.joint_positions())
            T = plant.robot.T_base_tip()
            stamp = 1_000_000_000 + number * PERIOD_NS
            time = types['builtin_interfaces/msg/Time'](stamp // 10**9, stamp % 10**9)
            header = types['std_msgs/msg/Header'](time, 'camera_color_optical_frame')
            size = image.height_px, image.width_px
            projection = np.insert(k.reshape(3, 3), 3, 0, axis=1).ravel()
            lens = 'plumb_bob', np.zeros(5), k, np.eye(3).ravel(), projection
            info = types[kinds[2]](header, *size, *lens, 0, 0, roi)
            pictures = [
                types[kinds[0]](
                    header, *size, encoding, 0, pixels.strides[0], pixels.view(np.uint8).ravel()
                )
                for encoding, pixels in (('rgb8', shot.rgb), ('16UC1', shot.depth))
            ]
            pose = types['geometry_msgs/msg/Pose'](
                types['geometry_msgs/msg/Point'](*T[:3, 3]),
                types['geometry_msgs/msg/Quaternion'](*Rotation.from_matrix(T[:3, :3]).as_quat()),
            )
            base = types['std_msgs/msg/Header'](time, robot.base.frame)
            said = (
                info,
                pictures[0],
                pictures[1],
                types['geometry_msgs/msg/PoseStamped'](base, pose),
            )
            for link, message in zip((links[2], links[0], links[1], truth), said, strict=True):
                writer.write(link, stamp, store.serialize_cdr(message, link.msgtype))
    camera.close()


if __name__ == '__main__':
    main(Path(sys.argv[1]))
