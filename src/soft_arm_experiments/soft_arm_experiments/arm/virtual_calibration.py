"""Calibrate a virtual rig for any bellows arm, faster than in real time.

The depth sensor is the shipped virtual rig's, unless the rig has one. The pose of the camera is
measured as by `softarm calibrate extrinsics`: the ring on the pegs of the jig, with camera noise
and ring detector. The dynamics are identified as by `softarm calibrate dynamics`, from steps and
loops of one chamber of the simulated arm, with the delays of the shipped virtual rig. The curves
come from the robot file. Last, the errors of the measured tip are calibrated, for rigs without
images.
"""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from soft_arm_calibration.steps import (
    REST_S,
    STEPS,
    loop_corners,
    middle_modes,
    step_limits_pa,
    stepped_chamber,
)
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.identification import Record, StepRecord, identify
from soft_arm_description.calibration import (
    Measurement,
    Values,
    load_calibration,
    save_calibration,
)
from soft_arm_description.depth_sensor import DepthSensor, sensor_of
from soft_arm_description.rig import VIRTUAL, Rig, load_rig
from soft_arm_description.robot import Robot, load_robot, shipped_robots
from soft_arm_experiments.arm import ring_noise_measurement
from soft_arm_experiments.virtual_intrinsics import intrinsics_of
from soft_arm_kinematics.arm import BellowsArm
from soft_arm_kinematics.calibration.pressure_length import (
    PressureLength,
    curve_of_robot_file,
    measurement_of,
)
from soft_arm_physics.pneumatic_arm import pneumatic_arm
from soft_arm_physics.simulation import Simulation
from soft_arm_sim.cameras.camera import VirtualCamera
from soft_arm_sim.cameras.placement import camera_for, jig_for
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.camera_correction import correction_of
from soft_arm_vision.errors import VisionError
from soft_arm_vision.ring.detector import RingDetector
from soft_arm_vision.segmentation.colour_mask import is_coloured
from soft_arm_vision.segmentation.segmenter import make_segmenter, ring_of

VERSION = 5  # of this procedure; part of the name of a cached rig
CAMERA_FRAME = 'camera_color_optical_frame'
SETS, FRAMES = 3, 4
PRESSURE_PERIOD_S, IMAGE_TICKS = 0.01, 3
NOISE_POSES = 10  # sufficient for standard deviations
PARTS = SETS * 9 + STEPS + 1 + NOISE_POSES  # for progress

Step = Callable[[], object]


def rig_for(
    template: Rig,
    robot_name: str,
    on_part: Step = lambda: None,
    network: Path | None = None,
) -> Rig:
    """Return a cached rig with the devices of a template, calibrated for a robot.

    A missing rig is made first; `on_part` is then called `PARTS` times.

    Raises:
        RobotFileError, KinematicsError, VisionError, ControlError: If the robot cannot be
            calibrated.
    """
    robot = load_robot(robot_name)
    cache = Path(os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache')
    made_of = _fingerprint(template, network)
    name = f'{template.name}_{robot.name}_{robot.fingerprint}_{made_of}_{VERSION}'
    folder = cache / 'soft_arm' / 'rigs' / name
    if not (folder / 'rig.yaml').exists():
        _make(folder, template, robot_name, on_part, network)
    return load_rig(str(folder))


def _fingerprint(template: Rig, network: Path | None) -> str:
    """Hash of the contents of a template and of the network."""
    files = sorted(path for path in template.folder.rglob('*') if path.is_file())
    named = {str(path.relative_to(template.folder)): path for path in files}
    if network is not None:
        named['network'] = network
    prints = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in named.items()}
    return hashlib.sha256(repr(prints).encode()).hexdigest()[:16]


def calibrate(
    rig: Rig, robot: Robot, on_part: Step = lambda: None, network: Path | None = None
) -> list[Path]:
    """Measure all calibrations of an arm on virtual devices and save them in a rig.

    Args:
        rig: A virtual rig that is not a template.
        robot: The robot.
        on_part: Called `PARTS` times.
        network: Exported network for the ring; None: its colour, or the shipped network.

    Returns:
        The files.

    Raises:
        KinematicsError, VisionError, ControlError: If the robot cannot be calibrated.
    """
    seen, paths = _with_ring(robot), []
    if not rig.calibration_file(DepthSensor.kind).exists():
        shipped = load_calibration(load_rig('virtual'), DepthSensor, None)
        paths.append(save_calibration(rig, shipped.values, robot, shipped.header.measurement))
    measured: tuple[tuple[Values, Measurement], ...] = (
        _curve(robot),
        _extrinsics(rig, seen, on_part, network),
        _dynamics(robot, on_part),
    )
    paths += [save_calibration(rig, values, robot, how) for values, how in measured]
    noise = ring_noise_measurement.measure(
        BellowsArm(seen),
        rig,
        _segmenter(seen, network),
        on_part,
        NOISE_POSES,
        network,
    )
    paths.append(save_calibration(rig, noise[0], robot, noise[1]))
    return [path for path in paths if path is not None]


def _make(
    folder: Path, template: Rig, robot_name: str, on_part: Step, network: Path | None
) -> None:
    """Make a rig in a folder atomically."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as unfinished:
        new, shipped = Path(unfinished) / folder.name, robot_name in shipped_robots()
        shutil.copytree(template.folder / 'parameters', new / 'parameters')
        if not shipped:
            shutil.copyfile(robot_name, new / 'robot.yaml')
        robot = robot_name if shipped else 'robot.yaml'
        (new / 'rig.yaml').write_text(f'devices: virtual\nrobot: {robot}\n')
        calibrate(load_rig(str(new)), load_robot(robot_name), on_part, network)
        shutil.rmtree(folder, ignore_errors=True)
        new.rename(folder)


def _curve(robot: Robot) -> tuple[PressureLength, Measurement]:
    fits = curve_of_robot_file(robot).fits
    return PressureLength(chambers=fits), measurement_of(
        fits, 'm', VIRTUAL, 'the points in the robot file'
    )


def _with_ring(robot: Robot) -> Robot:
    """Return the robot; without a ring, with the ring of the jig at its tip."""
    if robot.ring is not None:
        return robot
    return robot.model_copy(update={'ring': jig_for(robot).ring, 'fiducial': None})


def _segmenter(robot: Robot, network: Path | None) -> str:
    return 'colour' if network is None and is_coloured(ring_of(robot).colour_rgb) else 'yolact'


def _extrinsics(
    rig: Rig, robot: Robot, on_part: Step, network: Path | None
) -> tuple[extrinsics.ExtrinsicValues, Measurement]:
    parameters, jig = camera_for(robot), jig_for(robot)
    ring, correction = ring_of(robot), correction_of(rig)
    intrinsics = correction.intrinsics(intrinsics_of(parameters))
    detector = RingDetector(
        ring, make_segmenter(_segmenter(robot, network), ring, network), sensor_of(rig)[0]
    )
    camera = VirtualCamera(robot, parameters, jig, seed=0)
    centres_m, place = [], []
    try:
        rest = np.zeros(camera.joints)
        for _ in range(SETS):
            for peg in range(len(jig.pegs_m)):
                camera.place_ring(peg)
                found = []
                for _ in range(FRAMES):
                    frame = camera.capture(rest)
                    depth_m = correction.depth_m(frame.depth)
                    detection = detector.detect(frame.rgb, depth_m, intrinsics)
                    if detection.fit is None:
                        raise VisionError(
                            f'the camera does not see the ring on peg {peg}: {detection.reason}; '
                            "change the ring's size or colour in the robot file"
                        )
                    found.append(detection.fit.centre)
                centres_m.append(np.mean(found, axis=0))
                place.append(peg)
                on_part()
    finally:
        camera.close()
    base_m = np.array(jig.pegs_m)[place]
    result = extrinsics.solve(np.array(centres_m), base_m, np.array(place))
    method = f'least squares, {SETS} sets of {len(jig.pegs_m)} places, {FRAMES} frames each'
    return (
        extrinsics.values_of(result, robot.base.frame, CAMERA_FRAME),
        extrinsics.measurement_of(result, base_m, VIRTUAL, method),
    )


def _dynamics(robot: Robot, on_part: Step) -> tuple[Dynamics, Measurement]:
    arm, plant = BellowsArm(robot), pneumatic_arm(robot, 0)
    chamber = stepped_chamber(arm)
    low_pa, high_pa = step_limits_pa(arm, chamber)
    before_pa, steps = low_pa, []
    _recorded(plant, chamber, np.array([0.0, REST_S]), np.full(2, low_pa))
    for k in range(STEPS):
        to_pa = high_pa if k % 2 == 0 else low_pa
        record = _recorded(plant, chamber, np.array([0.0, REST_S]), np.full(2, to_pa))
        steps.append(StepRecord(**vars(record), start_pa=before_pa, command_pa=to_pa))
        before_pa = to_pa
        on_part()
    loops = _recorded(plant, chamber, *loop_corners(arm, chamber))
    on_part()
    found, residuals = identify(steps, [loops], middle_modes(arm))
    shipped = load_rig('virtual')
    delays = load_calibration(shipped, Dynamics, load_robot(shipped.robot)).values
    dynamics = found.model_copy(
        update={key: getattr(delays, key) for key in ('valve_delay_s', 'camera_delay_s')}
    )
    return dynamics, Measurement(
        devices=VIRTUAL,
        method='steps and loops of one chamber in simulated time; delays of the shipped rig',
        residuals=residuals,
        limits={'step_pa': (low_pa, high_pa)},
    )


def _recorded(
    plant: Simulation, chamber: int, corners_s: np.ndarray, corners_pa: np.ndarray
) -> Record:
    """Record one chamber commanded along straight lines, the others at ambient pressure."""
    command = np.zeros(len(plant.robot.robot.chambers))
    times_s = PRESSURE_PERIOD_S * np.arange(1, round(corners_s[-1] / PRESSURE_PERIOD_S) + 1)
    pressures_pa, tips = [], []
    for time_s in times_s:
        command[chamber] = np.interp(time_s, corners_s, corners_pa)
        plant.robot.actuate(command)
        plant.step(PRESSURE_PERIOD_S)
        pressures_pa.append(plant.robot.sensor_pressures_pa()[chamber])
        tips.append(plant.robot.T_base_tip()[:3, 3])
    images = slice(None, None, IMAGE_TICKS)
    return Record(
        times_s,
        np.array(pressures_pa),
        times_s[images],
        np.array(tips)[images],
        np.zeros(len(times_s[images])),
    )
