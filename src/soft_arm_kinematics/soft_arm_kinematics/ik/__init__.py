"""Inverse kinematics: all solutions of a target, ranked by the arm paper's three principles."""

from soft_arm_kinematics.ik.inverse import IkResult, IkSolution, InverseKinematics

__all__ = ['IkResult', 'IkSolution', 'InverseKinematics']
