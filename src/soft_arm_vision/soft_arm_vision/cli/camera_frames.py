"""`camera_frames` for launch files: how the camera's frames belong to the tf tree of a rig."""

import sys
from argparse import Namespace

from soft_arm_description.calibration import CalibrationError
from soft_arm_description.rig import load_rig
from soft_arm_description.robot import load_robot
from soft_arm_io.command_line import CommandLine
from soft_arm_vision.calibration import extrinsics

ATTACHED, SEPARATE, NONE = 'attached', 'separate', 'none'


def main(argv: list[str] | None = None) -> int:
    """Entry point; return the exit status."""
    parser = CommandLine(
        prog='camera_frames',
        description=f"Print how a camera's frames belong to the tf tree: {ATTACHED} to the arm's "
        f'base frame by the extrinsics; without usable extrinsics {NONE}, or {SEPARATE}, on '
        "the camera's topic tf_static alone, if depth is aligned by them (align_depth).",
    )
    parser.add_argument('rig', help='name of a rig, or path of its folder')
    parser.add_argument('robot', help='name of a shipped robot or path of a robot file')
    return parser.answer(argv, _print_kind)


def _print_kind(options: Namespace) -> int:
    rig, robot = load_rig(options.rig), load_robot(options.robot)
    try:
        base_frame, kind = extrinsics.load(rig, robot).base_frame, ATTACHED
        if base_frame != robot.base.frame:
            raise CalibrationError(
                f'{rig.calibration_file("extrinsics")}: base_frame is {base_frame}, that of '
                f'{robot.name} is {robot.base.frame}: calibrate extrinsics with this robot'
            )
    except CalibrationError as error:
        kind = SEPARATE if rig.camera.align_depth else NONE
        effect = 'are not in /tf_static' if kind == SEPARATE else 'are not published'
        print(f"the camera's frames {effect}: {error}", file=sys.stderr)
    print(kind, end='')
    return 0
