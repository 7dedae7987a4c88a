"""Load the kinematic models, camera and dynamics of an arm."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from soft_arm_control.tip.bias_filter import BiasFilter
from soft_arm_control.tip.dynamics import Dynamics
from soft_arm_control.tip.residual_model import ResidualModel
from soft_arm_description.calibration import load_calibration
from soft_arm_description.depth_sensor import sensor_of
from soft_arm_description.rig import Rig, load_rig
from soft_arm_description.robot import Robot, load_robot
from soft_arm_io.errors import InputError
from soft_arm_kinematics.arm import Arm, BellowsArm, load_arm, make_arm
from soft_arm_vision.calibration import extrinsics
from soft_arm_vision.calibration.mounting import Mounting
from soft_arm_vision.tip_sources import make_tracker
from soft_arm_vision.tip_tracker import TipTracker

_Loaded = TypeVar('_Loaded')


@dataclass(frozen=True)
class ArmFiles:
    """An arm as its files describe it.

    Attributes:
        robot: The robot file.
        rig: The rig, with its camera and its calibrations.
        models: Arms by the name of their model; pressures alone set them.
        dynamics: Hysteresis, lag and creep, for the controller's estimate; None if the rig has
            none.
        mounting: Pose of the camera; None if the rig has none.
        lacking: Why `dynamics` or `mounting` is None, one line each.
        tip_source: What finds the tip: yolact, colour or fiducial.
        network: Exported network of yolact; None: the shipped one.
    """

    robot: Robot
    rig: Rig
    models: dict[str, Arm]
    dynamics: Dynamics | None
    mounting: Mounting | None
    lacking: dict[str, str]
    tip_source: str
    network: Path | None

    def new_tracker(self, mounting: Mounting) -> TipTracker:
        """Return a tracker that has seen nothing, so that its poses depend on one bag alone."""
        sensor, _ = sensor_of(self.rig)
        return make_tracker(self.tip_source, self.robot, mounting, sensor, self.network)

    def new_filter(self) -> BiasFilter | None:
        """Return the controller's estimator before its first sample; None without dynamics."""
        arm = self.models[CALIBRATED]
        if self.dynamics is None or not isinstance(arm, BellowsArm):
            return None
        nothing_learnt = ResidualModel(arm.n_actuators)
        return BiasFilter(arm, nothing_learnt, self.dynamics)


FROM_FILE, CALIBRATED = 'model of the robot file', 'calibrated model'


def load_files(
    robot: str,
    rig: str,
    extrinsics_file: Path | None,
    tip_source: str,
    network: Path | None = None,
) -> ArmFiles:
    """Load a robot file and what a rig's calibrations say of it.

    Args:
        robot: Name of a shipped robot, or path of a robot file.
        rig: Name of a rig, or path of its folder.
        extrinsics_file: Another file of the camera's pose; None: the rig's.
        tip_source: What finds the tip: yolact, colour or fiducial.
        network: Exported network of yolact; None: the shipped one.

    Raises:
        InputError: If the robot or its curves cannot be loaded.
        VisionError: If a file of extrinsics that was given cannot be used.
    """
    loaded, where = load_robot(robot), load_rig(rig)
    lacking: dict[str, str] = {}

    def unless_lacking(what: str, load: Callable[[], _Loaded]) -> _Loaded | None:
        try:
            return load()
        except InputError as error:
            lacking[what] = str(error)
            return None

    mounting: Mounting | None
    if extrinsics_file is not None:
        mounting = extrinsics.load(where, loaded, extrinsics_file)
    else:
        mounting = unless_lacking('extrinsics', lambda: extrinsics.load(where, loaded))
    dynamics = unless_lacking('dynamics', lambda: load_calibration(where, Dynamics, loaded).values)
    models = {FROM_FILE: make_arm(loaded), CALIBRATED: load_arm(robot, rig)}
    return ArmFiles(loaded, where, models, dynamics, mounting, lacking, tip_source, network)
