"""Workspace of the tip: a table of sampled poses, and the set of reachable positions."""

from soft_arm_kinematics.workspace.reachable import ReachableSet, reachable_set
from soft_arm_kinematics.workspace.table import WorkspaceTable, build_table

__all__ = ['ReachableSet', 'WorkspaceTable', 'build_table', 'reachable_set']
