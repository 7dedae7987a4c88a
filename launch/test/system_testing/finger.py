"""Shapes of a finger with given bends."""

from soft_arm_kinematics.arm import Arm


def arc_backbone(robot, piece_angles_rad):
    """Poses (n, 4, 4) along a finger whose pieces are arcs of these bends, at all sections' ends.

    They are in its base, as `PneumaticFinger.T_base_backbone`.
    """
    pieces = [
        piece.model_copy(update={'theta_coefficients_rad': (theta_rad, 0.0, 0.0, 0.0)})
        for piece, theta_rad in zip(robot.segments, piece_angles_rad, strict=True)
    ]
    return Arm(robot.model_copy(update={'segments': tuple(pieces)})).at([0.0]).section_poses
