"""State of a simulation: MuJoCo's model and data, and the arrays of the actuation."""

import copy
from dataclasses import dataclass, replace
from typing import Self

import mujoco
import numpy as np

from soft_arm_physics.actuation.bellows import BellowsChain
from soft_arm_physics.actuation.chambers import Chambers
from soft_arm_physics.actuation.drag import Drag
from soft_arm_physics.actuation.engine import copy_model
from soft_arm_physics.actuation.rest_shape import Rests
from soft_arm_physics.actuation.stepping import Loads, Views, make_loads, make_views, places


@dataclass(eq=False)
class State:
    """Everything that the stepping loop reads and writes; see `actuation.stepping.advance`.

    The model belongs to it, since the loop sets damping of bellows, and objects may be placed.
    `noise` draws the noise of each robot's pressure sensors.
    """

    model: mujoco.MjModel
    data: mujoco.MjData
    views: Views
    chambers: Chambers
    bellows: BellowsChain
    rests: Rests
    drag: Drag
    loads: Loads
    sources: np.ndarray
    noise: dict[str, np.random.Generator]

    @classmethod
    def of(
        cls,
        model: mujoco.MjModel,
        data: mujoco.MjData,
        chambers: Chambers,
        bellows: BellowsChain,
        rests: Rests,
        drag: Drag,
        n_sources: int,
        noise: dict[str, np.random.Generator],
    ) -> Self:
        """Return the state of a model at rest, without loads."""
        views = make_views(model, data, places(model))
        loads = make_loads(np.zeros((0, 10)))
        sources = np.zeros(n_sources)
        return cls(model, data, views, chambers, bellows, rests, drag, loads, sources, noise)

    def copy(self) -> 'State':
        """Return an independent copy."""
        model = copy.copy(self.model)
        data = mujoco.MjData(model)
        mujoco.mj_copyData(data, model, self.data)
        return replace(
            self,
            model=model,
            data=data,
            views=make_views(model, data, self.views.place),
            chambers=Chambers(*(array.copy() for array in self.chambers)),
            sources=self.sources.copy(),
            noise=copy.deepcopy(self.noise),
        )

    def restore(self, other: Self) -> None:
        """Take over another state of the same simulation, in place and without allocation."""
        copy_model(self.model._address, other.model._address)
        mujoco.mj_copyData(self.data, self.model, other.data)
        for own, given in zip(self.chambers, other.chambers, strict=True):
            own[:] = given
        self.sources[:] = other.sources
        self.loads = other.loads
        for name, noise in other.noise.items():
            self.noise[name].bit_generator.state = noise.bit_generator.state

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
            self.drag,
            self.sources,
        )
