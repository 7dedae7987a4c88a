"""Every loader of a file that people write: name, valid file, reader, errors."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import cv2
import numpy as np

from abb_rws_bridge.credentials import load_credentials
from abb_rws_bridge.errors import ConfigurationError
from fuzzing.bad_files import changed_bytes, changed_json, changed_text, changed_yaml
from pneumatic_driver.errors import PneumaticDriverError
from pneumatic_driver.register_map import load_map, shipped_maps
from soft_arm_control.grasping import no_load_reference
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_description.assembly import (
    AssemblyFileError,
    load_assembly,
    shipped_assemblies,
)
from soft_arm_description.calibration import CalibrationError, load_calibration
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import RobotFileError, load_robot, shipped_robots
from soft_arm_description.urdf import joint_names, robot_urdf
from soft_arm_description.world import WorldFileError, load_world, shipped_worlds
from soft_arm_kinematics.arm import make_arm
from soft_arm_kinematics.calibration.modal_fit import read_shapes
from soft_arm_kinematics.calibration.pressure_bend import with_calibrated_bends
from soft_arm_kinematics.calibration.pressure_length import load_curve, read_points
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.ik.inverse import InverseKinematics
from soft_arm_kinematics.segments.sections import joint_values
from soft_arm_kinematics.workspace.table import build_table
from soft_arm_physics.actuation import pneumatics
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.model.mesh import mesh_volume_m3
from soft_arm_sim.cameras import parameters as camera_parameters
from soft_arm_sim.cameras.parameters import CONFIG
from soft_arm_training import coco
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration import points as calibration_points
from soft_arm_vision.clouds.cloud_file import read_cloud
from soft_arm_vision.errors import VisionError
from soft_arm_vision.finger import records as finger_records
from soft_arm_vision.segmentation.yolact import exported
from softarm_cli.bags.file import open_bag
from softarm_cli.errors import BagError
from softarm_cli.launching.description import describe
from softarm_cli.launching.xml import LaunchError


@dataclass(frozen=True)
class Loader:
    """Loader of a kind of file.

    Attributes:
        valid: Content of a good file.
        read: Reads a path, and uses what it read as the next thing does.
        errors: What it may raise.
        change: Makes a bad file of the good one.
        name: The file's.
    """

    valid: bytes
    read: Callable[[Path], object]
    errors: tuple[type[Exception], ...]
    change: Callable = changed_yaml
    name: str = 'file.yaml'


def _robot(path: Path):
    robot = load_robot(path)
    assert robot_urdf(robot).count('<joint') >= len(joint_names(robot))
    arm = make_arm(robot)
    low, high = arm.q_limits
    for share in (0.0, 0.5, 1.0):
        shape = arm.at(low + share * (high - low))
        assert np.isfinite(shape.tip_pose).all() and np.isfinite(shape.twist_jacobian).all()
    with np.errstate(all='ignore'):
        joint_values(arm.at(arm.rest_q))
        result = InverseKinematics(arm, build_table(arm, 500)).solve(arm.at(low).tip_m)
    assert np.isfinite([solution.score for solution in result.solutions]).all()


def _private(path: Path):
    path.chmod(0o600)
    return load_credentials(path)


def _bag(path: Path):
    folder = path.parent / 'bag'
    folder.mkdir(exist_ok=True)
    path.rename(folder / 'metadata.yaml')
    with open_bag(folder) as bag:
        return bag


def _network(path: Path):
    network = exported.SHIPPED.read_bytes()
    path.with_suffix('.onnx').write_bytes(network)
    exported.ExportedYolact(path.with_suffix('.onnx'))


def _labels(path: Path):
    picture = np.zeros((12, 16, 3), np.uint8)
    cv2.imwrite(str(path.parent / '000000.png'), picture)
    return list(coco.read(path, ('ring',)))


def _csv(header: str, *rows: str) -> bytes:
    return '\n'.join([header, *rows, '']).encode()


_COCO = {
    'categories': [{'id': 1, 'name': 'ring'}],
    'images': [{'id': 0, 'file_name': '000000.png', 'width': 16, 'height': 12}],
    'annotations': [
        {'id': 1, 'image_id': 0, 'category_id': 1, 'visible_share': 0.5,
         'segmentation': {'size': [12, 16], 'counts': [10, 20, 162]}},
        {'id': 2, 'image_id': 0, 'category_id': 1, 'iscrowd': 0,
         'segmentation': [[1, 1, 9, 1, 9, 9]]},
        {'id': 3, 'image_id': 0, 'category_id': 1,
         'segmentation': {'size': [12, 16], 'counts': ':d0R5'}},
    ],
}  # fmt: skip
_LAUNCH = b"""<launch>
  <arg name="robot" default="two_module_arm" description="which">
    <choice value="two_module_arm"/><choice value="other"/></arg>
  <let name="namespace" value="soft_arm"/>
  <group if="true">
    <push_ros_namespace namespace="$(var namespace)"/>
    <set_env name="A" value="$(env HOME /tmp)"/>
    <node pkg="soft_arm_kinematics" exec="limb_states" name="limbs" output="screen"
          respawn="false" args="--a 'b c'">
      <param name="robot" value="$(var robot)" type="str"/>
      <param name="rate_hz" value="50.0"/>
      <remap from="a" to="b"/>
    </node>
  </group>
  <executable cmd="sleep 1" output="log" unless="$(var robot)"/>
</launch>
"""
_LAUNCH = _LAUNCH.replace(b' unless="$(var robot)"', b' unless="0"')


def _cloud(kind: str) -> bytes:
    points = np.random.default_rng(0).normal(size=(8, 3)).astype('<f4')
    if kind == 'ply':
        properties = ''.join(f'property float {axis}\n' for axis in 'xyz')
        return (
            b'ply\nformat binary_little_endian 1.0\nelement vertex 8\n'
            + f'{properties}end_header\n'.encode()
            + points.tobytes()
        )
    head = (
        'VERSION .7\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nCOUNT 1 1 1\nWIDTH 8\nHEIGHT 1\n'
        'VIEWPOINT 0 0 0 1 0 0 0\nPOINTS 8\n'
    )
    if kind == 'ascii':
        return (
            head + 'DATA ascii\n' + '\n'.join(' '.join(map(str, p)) for p in points.tolist()) + '\n'
        ).encode()
    if kind == 'binary':
        return (head + 'DATA binary\n').encode() + points.tobytes()
    columns = points.T.tobytes()  # as literals of LZF, 32 bytes at a time
    packed = b''.join(
        bytes([len(columns[i : i + 32]) - 1]) + columns[i : i + 32]
        for i in range(0, len(columns), 32)
    )
    return (
        (head + 'DATA binary_compressed\n').encode()
        + np.array([len(packed), len(columns)], '<u4').tobytes()
        + packed
    )


_CORNERS_M = np.array([[0.3, 0.1, 0.2], [0.4, 0.1, 0.2], [0.3, 0.3, 0.2], [0.3, 0.1, 0.5]])
_TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [0, 3, 2]])
_OBJ = '\n'.join(
    [
        *(f'v {x} {y} {z}' for x, y, z in _CORNERS_M),
        *(f'f {a} {b} {c}' for a, b, c in _TETRAHEDRON + 1),
        '',
    ]
).encode()


def _stl() -> bytes:
    table = np.zeros(4, [('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('attribute', '<u2')])
    table['corners'] = _CORNERS_M[_TETRAHEDRON]
    return bytes(80) + np.uint32(4).tobytes() + table.tobytes()


def _npy() -> bytes:
    import io

    buffer = io.BytesIO()
    np.save(buffer, np.random.default_rng(0).normal(size=(8, 3)))
    return buffer.getvalue()


def loaders() -> dict[str, Loader]:
    """All of them, by name."""
    arm, finger = load_robot('two_module_arm'), load_robot('four_piece_finger')
    rig = load_rig('virtual')
    found = {
        f'robot {name}': Loader(path.read_bytes(), _robot, (RobotFileError, KinematicsError))
        for name, path in shipped_robots().items()
    }
    found |= {
        f'assembly {name}': Loader(
            shipped_assemblies()[name].read_bytes(), load_assembly, (AssemblyFileError,)
        )
        for name in ('squid', 'hand')
    }
    found['world'] = Loader(
        shipped_worlds()['squid_sea'].read_bytes(), load_world, (WorldFileError,)
    )
    found |= {
        f'map {name}': Loader(path.read_bytes(), load_map, (PneumaticDriverError,))
        for name, path in shipped_maps().items()
    }
    for model, path in (
        (camera_parameters.CameraParameters, CONFIG / 'virtual_camera.yaml'),
        (camera_parameters.FingerCameraParameters, CONFIG / 'finger_camera.yaml'),
        (camera_parameters.CalibrationJig, CONFIG / 'calibration_jig.yaml'),
        (pneumatics.Pneumatics, pneumatics.CONFIG / 'two_module_arm.pneumatics.yaml'),
    ):

        def read(path, model=model):
            from soft_arm_physics.parameter_file import load_parameters

            return load_parameters(model, path)

        found[f'world {path.stem}'] = Loader(path.read_bytes(), read, (PhysicsError,))
    found |= {
        kind: Loader(rig.calibration_file(kind).read_bytes(), read, (CalibrationError,))
        for kind, read in {
            'pressure_length': lambda p: load_curve(rig, arm, p).lengths(np.zeros(6)),
            'pressure_bend': lambda p: with_calibrated_bends(finger, rig, p),
            'extrinsics': lambda p: extrinsics.load(rig, arm, p),
            'dynamics': lambda p: load_calibration(rig, Dynamics, arm, p),
            'no_load_reference': lambda p: no_load_reference.load(rig, finger, p),
        }.items()
    }
    cloud = lambda name: Loader(  # noqa: E731
        _cloud(name),
        read_cloud,
        (VisionError,),
        changed_bytes,
        'c.ply' if name == 'ply' else 'c.pcd',
    )
    return found | {
        'jig': Loader(
            (CONFIG / 'calibration_jig.yaml').read_bytes(),
            calibration_points.read_jig,
            (VisionError,),
        ),
        'camera': Loader(
            b'image: {width_px: 64, height_px: 48, fx_px: 60.0, fy_px: 60.0, '
            b'cx_px: 32.0, cy_px: 24.0}\n'
            b'distortion: {k1: 0.0, k2: 0.0, k3: 0.0, p1: 0.0, p2: 0.0}\n',
            finger_records.read_camera,
            (VisionError,),
        ),
        'credentials': Loader(b'user: me\npassword: secret\n', _private, (ConfigurationError,)),
        'launch': Loader(
            _LAUNCH,
            lambda p: describe(p, {}, p.parent),
            (LaunchError,),
            changed_text,
            'a.launch.xml',
        ),
        'lengths': Loader(
            _csv(
                'chamber,pressure_pa,length_m,branch', *(f'm1_b1,{k}e3,0.1{k},up' for k in range(6))
            ),
            read_points,
            (KinematicsError,),
            changed_text,
        ),
        'bends': Loader(
            _csv('segment,pressure_pa,theta_rad', *(f'tip,{k}e3,0.1{k}' for k in range(6))),
            lambda p: read_points(p, 'segment', 'theta_rad'),
            (KinematicsError,),
            changed_text,
        ),
        'shapes': Loader(
            _csv('pressure_pa,x_m,z_m', *(f'{k}e3,0.0{j},0.1' for k in range(3) for j in range(4))),
            read_shapes,
            (KinematicsError,),
            changed_text,
        ),
        'correspondences': Loader(
            _csv(
                ','.join(calibration_points.COLUMNS),
                *(f'{k},0.1,0.2,0.{k},0.1,0.2,0.3' for k in range(5)),
            ),
            calibration_points.read_correspondences,
            (VisionError,),
            changed_text,
        ),
        'pictures': Loader(
            _csv('pressure_pa,branch,colour,depth', '1e3,up,a.png,b.png', '0,down,c.png,d.png'),
            finger_records.read_pictures,
            (VisionError,),
            changed_text,
        ),
        'clicks': Loader(
            _csv(
                'colour,line,u1_px,v1_px,u2_px,v2_px',
                'all,reference,1,2,3,40',
                *(f'a.png,{s},1,2,30,4' for s in finger.segment_names),
            ),
            lambda p: finger_records.read_clicks(p, finger),
            (VisionError,),
            changed_text,
        ),
        'cloud pcd ascii': cloud('ascii'),
        'cloud pcd binary': cloud('binary'),
        'cloud pcd compressed': cloud('compressed'),
        'cloud ply': cloud('ply'),
        'cloud npy': Loader(_npy(), read_cloud, (VisionError,), changed_bytes, 'c.npy'),
        **{
            f'mesh {kind}': Loader(
                content, mesh_volume_m3, (PhysicsError,), changed_bytes, f'm.{kind}'
            )
            for kind, content in (('obj', _OBJ), ('stl', _stl()))
        },
        'labels': Loader(
            json.dumps(_COCO).encode(), _labels, (VisionError,), changed_json, 'instances.json'
        ),
        'network card': Loader(
            exported.SHIPPED.with_suffix('.json').read_bytes(),
            _network,
            (VisionError,),
            changed_json,
            'n.json',
        ),
        'bag metadata': Loader(_BAG, _bag, (BagError,)),
    }


_BAG = b"""rosbag2_bagfile_information:
  version: 5
  storage_identifier: mcap
  duration: {nanoseconds: 1000}
  starting_time: {nanoseconds_since_epoch: 1}
  message_count: 0
  topics_with_message_count: []
  compression_format: ''
  compression_mode: ''
  relative_file_paths: [bag_0.mcap]
  files: []
"""
