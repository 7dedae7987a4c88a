"""State of a simulation: MuJoCo's model and data, and the arrays of the actuation."""

import copy
from dataclasses import dataclass, replace
from typing import Self

import mujoco
import numpy as np

from soft_arm_physics.actuation.bellows import BellowsChain
from soft_arm_physics.actuation.chambers import Chambers
from soft_arm_physics.actuation.rest_shape import Rests
from soft_arm_physics.actuation.stepping import Loads, Views, make_loads, make_views


@dataclass(eq=False)
class State:
    """Everything that the stepping loop reads and writes; see `actuation.stepping.advance`.

    The model belongs to it, since the loop sets damping of bellows, and objects may be placed.
    """

    model: mujoco.MjModel
    data: mujoco.MjData
    views: Views
    chambers: Chambers
    bellows: BellowsChain
    rests: Rests
    loads: Loads
    sources: np.ndarray

    @classmethod
    def of(
        cls,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        chambers: Chambers,
        bellows: BellowsChain,
        rests: Rests,
        n_sources: int,
    ) -> Self:
        """Return the state of a model at rest, without loads."""
        views, loads = make_views(model, data), make_loads(np.zeros((0, 10)))
        return cls(model, data, views, chambers, bellows, rests, loads, np.zeros(n_sources))

    def copy(self) -> 'State':
        """Return an independent copy."""
        model = copy.copy(self.model)
        data = mujoco.MjData(model)
        mujoco.mj_copyData(data, model, self.data)
        return replace(
            self,
            model=model,
            data=data,
            views=make_views(model, data),
            chambers=Chambers(*(array.copy() for array in self.chambers)),
            sources=self.sources.copy(),
        )

    def set_loads(self, rows: np.ndarray) -> None:
        """Set all loads: body, point from its centre of mass, force, torque; (n, 10)."""
        self.loads = make_loads(rows)
        self.data.xfrc_applied[:] = 0.0

    def arguments(self) -> tuple:
        """Return the arguments of the stepping loop."""
        return (
            self.model._address,
            self.data._address,
            self.model.opt.timestep,
            self.views,
            self.chambers,
            self.bellows,
            self.rests,
            self.loads,
            self.sources,
        )
