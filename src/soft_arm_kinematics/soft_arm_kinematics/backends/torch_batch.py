"""Batched kinematics through torch in float64, on any of its devices: the same poses, Jacobians and refinement as the compiled loops.

`fast_fk.fk_batch` and `refine` come here where a device is given. torch is imported by the first of
them, never before.
"""

from functools import lru_cache

import numpy as np

from soft_arm_kinematics.arm import Arm
from soft_arm_kinematics.backends.compiled_model import (
    BELLOWS,
    MODAL,
    SINGLE_BEND,
    TENDON,
    compiled_arm,
)
from soft_arm_kinematics.backends.compiled_solver import (
    AXIS_WEIGHT_M,
    FIRST_DAMPING,
    LARGEST_DAMPING,
    SMALLEST_DAMPING,
    STOP_M,
)
from soft_arm_kinematics.errors import KinematicsError
from soft_arm_kinematics.segments import pcc

try:
    import torch
except ImportError as error:
    raise KinematicsError(
        f'a device needs torch ({error}): install it with `pip install -r requirements/train.in`, or give no device'
    ) from error


@lru_cache(maxsize=8)
def torch_arm(arm: Arm, device: str) -> 'TorchArm':
    """The arm on a device; made once for each.

    Raises:
        KinematicsError: If torch does not know the device, cannot use it here, or it has no
            float64.
    """
    try:
        torch.zeros(1, dtype=torch.float64, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0]
        raise KinematicsError(
            f'device {device!r}: torch cannot use it for float64 here ({reason}); give cpu, cuda or no device'
        ) from error
    return TorchArm(arm, device)


class TorchArm:
    """An arm of any kinds as tensors; actuation x (m, n) and what comes back are float64 on its device."""

    def __init__(self, arm: Arm, device: str):
        self.device, self.segments = torch.device(device), arm.n_segments
        self._model, self._columns = compiled_arm(arm), [c.tolist() for c in arm.columns]
        self.low, self.high = self.tensor(self._model.low), self.tensor(self._model.high)
        self._arc_matrices = self.tensor(self._model.arc_matrices)
        self._nodes, self._weights_m = (
            self.tensor(self._model.node_coefficients),
            self.tensor(self._model.weights_m),
        )

    def tensor(self, values: np.ndarray) -> 'torch.Tensor':
        """A float64 tensor on the device."""
        return torch.as_tensor(
            np.ascontiguousarray(values), dtype=torch.float64, device=self.device
        )

    def fk(self, x: 'torch.Tensor') -> 'torch.Tensor':
        """T_base_tip (m, 4, 4) at actuation x (m, n)."""
        pose = torch.zeros(len(x), 4, 4, dtype=x.dtype, device=x.device)
        rotation, position = self._chain(x, None)
        pose[:, :3, :3], pose[:, :3, 3], pose[:, 3, 3] = rotation, position, 1.0
        return pose

    def fk_and_jacobian(
        self, x: 'torch.Tensor'
    ) -> tuple['torch.Tensor', 'torch.Tensor', 'torch.Tensor']:
        """Rotation (m, 3, 3) and position (m, 3) [m] of the tip, and its twist Jacobian (m, 6, n) as `Arm.twist_jacobian`."""
        moved = []
        rotation, position = self._chain(x, moved)
        jacobian = torch.zeros(len(x), 6, x.shape[1], dtype=x.dtype, device=x.device)
        for columns, start, end, local in moved:
            angular = start @ local[:, 3:]
            arm_m = (position - end)[:, :, None].expand(-1, -1, local.shape[2])
            jacobian[:, :3, columns] += start @ local[:, :3] + torch.linalg.cross(
                angular, arm_m, dim=1
            )
            jacobian[:, 3:, columns] += angular
        return rotation, position, jacobian

    def _chain(self, x, moved):
        """Rotation and position of the tip; with a list, each segment's columns, start rotation, end and local twists go there."""
        rotation = torch.eye(3, dtype=x.dtype, device=x.device).expand(len(x), 3, 3)
        position = torch.zeros(len(x), 3, dtype=x.dtype, device=x.device)
        for i, columns in enumerate(self._columns):
            turn, end_m, twists = self._segment(i, x[:, columns], moved is not None)
            start = rotation
            position = position + (start @ end_m[:, :, None])[:, :, 0]
            if moved is not None:
                moved.append((columns, start, position, twists))
            rotation = start @ turn
            position = position + float(self._model.rigid_m[i]) * rotation[:, :, 2]
        return rotation, position

    def _segment(self, i, x, wanted):
        """Rotation, end [m] and, where wanted, twists (m, 6, k) of segment i in its start frame, from its coordinates x (m, k)."""
        arc, slopes, cos, sin = self._arc(i, x)
        ux, uy, ell = arc.unbind(-1)
        theta2 = ux * ux + uy * uy
        a, b, c, da, db = _bend_functions(theta2)
        axis = torch.stack([a * ux, a * uy, 1.0 - b * theta2], dim=-1)
        first = torch.stack([1.0 - b * ux * ux, -b * ux * uy, -a * ux], dim=-1)
        second = torch.stack([-b * ux * uy, 1.0 - b * uy * uy, -a * uy], dim=-1)
        if not self._model.twists[i]:
            first, second = (
                cos[:, None] * first + sin[:, None] * second,
                cos[:, None] * second - sin[:, None] * first,
            )
        end_m, modal_slope = torch.stack([ell * b * ux, ell * b * uy, ell * a], dim=-1), None
        if self._model.kinds[i] == MODAL:
            end_m, modal_slope = self._modal(i, x)
        twists = None
        if wanted:
            zero = torch.zeros_like(a)
            by_arc = torch.stack(
                [
                    torch.stack([ell * (b + db * ux * ux), ell * db * ux * uy, b * ux], -1),
                    torch.stack([ell * db * ux * uy, ell * (b + db * uy * uy), b * uy], -1),
                    torch.stack([ell * da * ux, ell * da * uy, a], -1),
                    torch.stack([-c * ux * uy, -1.0 + c * ux * ux, zero], -1),
                    torch.stack([1.0 - c * uy * uy, c * ux * uy, zero], -1),
                    torch.stack([-b * uy, b * ux, zero], -1),
                ],
                dim=1,
            )
            twists = by_arc @ slopes
            if modal_slope is not None:
                twists[:, :3, 0] = modal_slope
            twists[:, 3:] += axis[:, :, None] * self._spin(i, ux, uy, theta2, slopes)[:, None, :]
        return torch.stack([first, second, axis], dim=-1), end_m, twists

    def _spin(self, i, ux, uy, theta2, slopes):
        """Turn of the end about its own axis that the open twist adds, per unit rate of the coordinates (m, k)."""
        spin = torch.zeros_like(slopes[:, 0])
        if not self._model.twists[i] and self._model.kinds[i] == BELLOWS:
            safe = torch.where(theta2 < pcc.STRAIGHT_RAD**2, torch.inf, theta2)
            spin = (ux[:, None] * slopes[:, 1] - uy[:, None] * slopes[:, 0]) / safe[:, None]
        if not self._model.twists[i] and self._model.kinds[i] == TENDON:
            spin[:, 1] = 1.0
        return spin

    def _arc(self, i, x):
        """Arc (m, 3), its slopes (m, 3, k), and cosine and sine (m,) of the open twist."""
        model, kind = self._model, self._model.kinds[i]
        if kind == BELLOWS:
            matrix = self._arc_matrices[i][:, : x.shape[1]]
            arc = (matrix * x[:, None, :]).sum(dim=-1)
            theta = torch.hypot(arc[:, 0], arc[:, 1])
            straight = theta < pcc.STRAIGHT_RAD
            safe = torch.where(straight, 1.0, theta)
            cos, sin = (
                torch.where(straight, 1.0, arc[:, 0] / safe),
                torch.where(straight, 0.0, arc[:, 1] / safe),
            )
            return arc, matrix.expand(len(x), 3, -1), cos, sin
        if kind == TENDON:
            theta, cos, sin, zero = (
                x[:, 0],
                torch.cos(x[:, 1]),
                torch.sin(x[:, 1]),
                torch.zeros_like(x[:, 0]),
            )
            rows = [[cos, -theta * sin, zero], [sin, theta * cos, zero], [zero, zero, zero + 1.0]]
            return (
                torch.stack([theta * cos, theta * sin, x[:, 2]], -1),
                torch.stack([torch.stack(r, -1) for r in rows], 1),
                cos,
                sin,
            )
        coefficients = (
            model.theta_coefficients[i] if kind == SINGLE_BEND else model.node_coefficients[i, -1]
        )
        theta, slope = _polynomial(coefficients.tolist(), x[:, 0])
        cos, sin = (torch.full_like(theta, float(d)) for d in model.directions[i])
        arc = torch.stack(
            [theta * cos, theta * sin, torch.full_like(theta, float(model.lengths_m[i]))], dim=-1
        )
        return (
            arc,
            torch.stack([slope * cos, slope * sin, torch.zeros_like(slope)], dim=-1)[:, :, None],
            cos,
            sin,
        )

    def _modal(self, i, x):
        """End (m, 3) [m] of a modal segment and its slope [m/Pa]."""
        theta, slope = _polynomial(list(self._nodes[i, :-1].unbind(-1)), x)  # (m, nodes)
        cos, sin = (float(d) for d in self._model.directions[i])
        weights_m = self._weights_m[i]
        side, side_slope = torch.sin(theta) @ weights_m, (torch.cos(theta) * slope) @ weights_m
        along, along_slope = torch.cos(theta) @ weights_m, -(torch.sin(theta) * slope) @ weights_m
        return torch.stack([side * cos, side * sin, along], -1), torch.stack(
            [side_slope * cos, side_slope * sin, along_slope], -1
        )

    def refine(
        self,
        x: 'torch.Tensor',
        targets_m: 'torch.Tensor',
        axis: 'torch.Tensor | None',
        most_steps: int,
    ) -> tuple['torch.Tensor', 'torch.Tensor', 'torch.Tensor']:
        """Damped Gauss-Newton of x (m, n) towards targets (m, 3) [m] and one axis (3,) or none, inside the limits.

        Returns:
            Actuation (m, n), residuals (m,) [m], axis errors (m,) [rad].
        """
        reach = self.high - self.low
        here = trial = torch.clamp(x, self.low, self.high)
        error, jacobian = self._task(here, targets_m, axis)
        cost = (error * error).sum(dim=-1)
        damping = torch.full_like(cost, FIRST_DAMPING)
        for _ in range(most_steps):
            if bool(((cost <= STOP_M**2) | (damping >= LARGEST_DAMPING)).all()):
                break
            step = self._least_norm_steps(here, error, jacobian, damping)
            trial = torch.clamp(here + step * reach, self.low, self.high)
            new_error, new_jacobian = self._task(trial, targets_m, axis)
            new_cost = (new_error * new_error).sum(dim=-1)
            better = new_cost < cost
            damping = torch.where(
                better, torch.clamp(0.1 * damping, min=SMALLEST_DAMPING), 10.0 * damping
            )
            cost = torch.where(better, new_cost, cost)
            here = torch.where(better[:, None], trial, here)
            error = torch.where(better[:, None], new_error, error)
            jacobian = torch.where(better[:, None, None], new_jacobian, jacobian)
        return (
            here,
            torch.linalg.norm(error[:, :3], dim=-1),
            torch.linalg.norm(error[:, 3:], dim=-1) / AXIS_WEIGHT_M,
        )

    def _task(self, x, targets_m, axis):
        """Task errors (m, 3 or 6) and their Jacobians by shares of the ranges (m, 3 or 6, n)."""
        rotation, position, jacobian = self.fk_and_jacobian(x)
        error = targets_m - position
        scaled = jacobian * (self.high - self.low)
        if axis is None:
            return error, scaled[:, :3]
        tip_axis = rotation[:, :, 2]  # rotation about the tip's own axis is free
        wanted = axis.expand_as(tip_axis)
        cross = torch.linalg.cross(tip_axis, wanted, dim=-1)
        sin, cos = torch.linalg.norm(cross, dim=-1), (tip_axis * wanted).sum(dim=-1)
        scale = AXIS_WEIGHT_M * torch.where(
            sin > 1e-12, torch.atan2(sin, cos) / torch.clamp(sin, min=1e-300), 1.0
        )
        spin = (tip_axis[:, :, None] * scaled[:, 3:]).sum(dim=1, keepdim=True)
        turned = AXIS_WEIGHT_M * (scaled[:, 3:] - spin * tip_axis[:, :, None])
        return torch.cat([error, scale[:, None] * cross], dim=1), torch.cat(
            [scaled[:, :3], turned], dim=1
        )

    def _least_norm_steps(self, here, error, jacobian, damping):
        """Damped least-norm steps as shares of the ranges (m, n); coordinates that would leave the limits are held."""
        free, rows = torch.ones_like(here), error.shape[1]
        unit = torch.eye(rows, dtype=here.dtype, device=here.device)
        for _ in range(here.shape[1]):
            gram = (jacobian * free[:, None, :]) @ jacobian.mT
            trace = gram.diagonal(dim1=1, dim2=2).sum(dim=-1)
            gram = gram + (damping * trace / rows + 1e-14)[:, None, None] * unit
            factor, _ = torch.linalg.cholesky_ex(gram)
            multiplier = torch.cholesky_solve(error[:, :, None], factor)
            step = (jacobian.mT @ multiplier)[:, :, 0] * free
            leaves = ((here <= self.low) & (step < 0.0)) | ((here >= self.high) & (step > 0.0))
            step, free = torch.where(leaves, 0.0, step), torch.where(leaves, 0.0, free)
            if not bool(leaves.any()):
                break
        return step


def _polynomial(coefficients, x):
    """Value and slope of a polynomial by Horner's rule; coefficients are numbers or broadcast with x."""
    value, slope = torch.zeros_like(x), torch.zeros_like(x)
    for c in reversed(coefficients):
        value, slope = value * x + c, slope * x + value
    return value, slope


def _series(x, first):
    term = 1.0 / float(np.prod(np.arange(1.0, first + 1.0)))
    total = torch.full_like(x, term)
    for k in range(1, 12):
        term = term * -x / ((2 * k + first) * (2 * k + first - 1))
        total = total + term
    return total


def _bend_functions(theta2):
    """A, B, C, dA, dB of `pcc.bend_functions`."""
    near = theta2 < pcc.SERIES_BELOW
    x, y = torch.where(near, theta2, 0.0), torch.where(near, 1.0, theta2)
    theta = torch.sqrt(y)
    a = torch.where(near, _series(x, 1), torch.sin(theta) / theta)
    b = torch.where(near, _series(x, 2), (1.0 - torch.cos(theta)) / y)
    c = torch.where(near, _series(x, 3), (1.0 - a) / y)
    d = torch.where(near, _series(x, 4), (0.5 - b) / y)
    return a, b, c, c - b, 2.0 * d - c
