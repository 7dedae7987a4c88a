"""Kinematics of soft arms: arcs, Jacobians, pressure curves, workspace tables."""
