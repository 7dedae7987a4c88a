"""Source of `softarm view`: robots moved by sliders, with inverse kinematics and physics."""

import json
import threading
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.assembly import Assembly, as_assembly
from soft_arm_description.world import World, load_world
from soft_arm_twin.graph.journal import Journal
from soft_arm_twin.scene import Scene
from soft_arm_twin.source import Answer, Cloud, Jpeg, Level, Panel, Snapshot
from soft_arm_twin.view import panel
from soft_arm_twin.view.aim import Aim, Aimed, workspace_points
from soft_arm_twin.view.engine import Engine, Mode, Moment
from soft_arm_twin.view.picture import TRACE_POINTS, Picture
from soft_arm_twin.view.units import shown

TRACE_STEP_S = 0.1


def default_world(assembly: Assembly) -> str:
    """Return the default world of an assembly: a floor if a body could fall."""
    return 'empty' if all(body.fixed for body in assembly.bodies) else 'floor'


class ViewSource:
    """Robots in a world, moved by physics or kinematics; see `soft_arm_twin.source.Source`.

    Args:
        robot: Name or path of a robot or assembly file.
        world: Name or path of a world file; None: `default_world`.
        mode: Initial model of motion.

    Raises:
        InputError: If a file cannot be used.
    """

    def __init__(self, robot: str | Path, world: str | Path | None = None, mode: Mode = 'physics'):
        self.assembly = as_assembly(robot)
        self.world: World = load_world(world or default_world(self.assembly))
        where = '' if self.world.name == 'empty' else f' in {self.world.name}'
        self.title = self.assembly.name + where
        self._journal = Journal(lambda: datetime.now(UTC).timestamp())
        self.engine = Engine(self.assembly, self.world, mode, self._tell)
        self.aim = Aim(self.engine.robots, self._answered, self.engine.settled)
        self.aimed_robot = next(iter(self.engine.robots))
        self.target_m: np.ndarray | None = None
        self.answer: Aimed | None = None
        self.chosen = 0
        self.follow, self.show_solutions, self.show_trace = True, True, False
        self.show_workspace = False
        self._cloud: tuple[str, tuple[np.ndarray, np.ndarray]] | None = None
        self._picture_key: object = None
        self._picture = self._new_picture()
        self._trace: deque[np.ndarray] = deque(maxlen=TRACE_POINTS)
        self._traced_s = 0.0
        self._snapshot_key: object = None
        self._snapshot = Snapshot(time.monotonic(), np.zeros((0, 3, 4), np.float32))

    def start(self) -> None:
        """Start the engine and load the solver of the first robot."""
        self.engine.start()
        self.aim.prepare(self.aimed_robot)
        self._tell('info', f'{self.title}: {len(self.engine.robots)} robot(s)')

    def stop(self) -> None:
        """End the threads."""
        self.engine.stop()
        self.aim.stop()

    def scene(self) -> Scene:
        """See `Source`."""
        key = self.aimed_robot, self.show_workspace and self._cloud_of(self.aimed_robot) is not None
        if key != self._picture_key:
            self._picture_key, self._picture = key, self._new_picture()
        return self._picture.scene

    def snapshot(self) -> Snapshot:
        """See `Source`."""
        scene, moment, answer = self.scene(), self.engine.moment, self.answer
        self._trace_tip(moment)
        key = moment, answer, scene, self.show_solutions, self.show_trace
        if key != self._snapshot_key:
            nearest_m, ghosts = None, np.zeros((0, 1, 3, 4))
            if answer is not None and answer.robot == self.aimed_robot:
                T = moment.T_world_base[answer.robot]
                if not answer.result.reachable:
                    nearest_m = T[:3, :3] @ answer.result.nearest_m + T[:3, 3]
                if self.show_solutions and len(answer.ghosts):
                    ghosts = _moved(T, answer.ghosts)
            trace_m = np.array(self._trace) if self.show_trace else np.zeros((0, 3))
            frames = self._picture.frames(moment, nearest_m, trace_m, ghosts)
            self._snapshot = Snapshot(moment.stamp_s, frames.astype(np.float32))
            self._snapshot_key = key
        return self._snapshot

    def panel(self) -> Panel:
        """See `Source`."""
        return panel.panel_of(self, self._journal.events())

    def image(self) -> Jpeg | None:
        """Return no image."""
        return None

    def cloud(self) -> Cloud | None:
        """Return no cloud: the workspace is a part of the scene."""
        return None

    def released(self) -> None:
        """Do nothing: no control needs an owner."""

    def command(self, control: str, value: object, owner: bool) -> Answer:
        """See `Source`."""
        simple = {
            'rest': self._rest,
            'reset': self._reset,
            'move': self._move,
            'pose': self._pose,
            'forget': self._forget,
        }
        if control in simple:
            return simple[control]()
        if control == 'model':
            return self._set_model(str(value))
        if control == 'robot':
            self.aimed_robot = str(value)
            return self._forget()
        if control == 'target':
            self.target_m = np.array(value, float)
            self._ask()
            return Answer(True, 'target is set')
        if control == 'solution':
            return self._choose(str(value))
        if control in ('follow', 'show_solutions', 'show_trace', 'show_workspace'):
            setattr(self, control, bool(value))
            if control == 'show_workspace' and value:
                self._sample_workspace()
            if control == 'follow' and value:
                self._ask()
            return Answer(True, 'on' if value else 'off')
        robot, name = control.split('.', 1)
        coordinate = panel.slider_coordinates(self.engine, robot)[name]
        unit, per_si = shown(coordinate)
        assert isinstance(value, float)
        si = float(np.clip(value / per_si, coordinate.low, coordinate.high))
        self.engine.set_values(robot, {name: si})
        return Answer(True, f'{robot} {name}: {value:.6g} {unit}')

    # Commands

    def _rest(self) -> Answer:
        self.engine.rest()
        return Answer(True, 'all sliders rest')

    def _reset(self) -> Answer:
        self.engine.reset()
        self._trace.clear()
        self._forget()
        self._tell('info', 'reset')
        return Answer(True, 'reset')

    def _forget(self) -> Answer:
        self.target_m, self.answer, self.chosen = None, None, 0
        self._trace.clear()
        return Answer(True, f'target is at the tip of {self.aimed_robot}')

    def _set_model(self, mode: str) -> Answer:
        self.engine.set_mode('physics' if mode == 'physics' else 'kinematics')
        self._tell('info', f'moved by {mode}')
        return Answer(True, f'moved by {mode}')

    def _choose(self, name: str) -> Answer:
        names = panel.solution_names(self.answer)
        if name not in names:  # the target has changed since the page was sent
            return Answer(False, f'{name} is not a solution of the present target: choose again')
        self.chosen = names.index(name)
        return Answer(True, f'{name} is chosen')

    def _move(self) -> Answer:
        answer = self.answer
        if answer is None or not answer.drawn:
            return Answer(False, 'no solution to move to: drag the target to where the tip reaches')
        why = self._go(answer, self.chosen)
        return Answer(not why, why or f'{answer.robot} moves to {panel.solution_name(self.chosen)}')

    def _go(self, answer: Aimed, chosen: int) -> str:
        """Set the sliders to a solution; return the reason if that is not possible."""
        viewed = self.engine.robots[answer.robot]
        values = viewed.values_of(answer.solutions[chosen])
        driven = {c.name for c in self.engine.coordinates(answer.robot)}
        if not driven <= set(values):
            return (
                f'{answer.robot} is driven by tensions in physics, and the solution has none: '
                'choose kinematics'
            )
        self.engine.set_values(answer.robot, values)
        return ''

    def _pose(self) -> Answer:
        text = json.dumps(self._poses(), indent=2) + '\n'
        return Answer(True, 'pose', f'{self.assembly.name}_pose.json', text)

    def _poses(self) -> dict[str, object]:
        moment, robots = self.engine.moment, {}
        for name, T in moment.T_world_tip.items():
            values = self.engine.values[name]
            robots[name] = {
                'tip_position_m': T[:3, 3].tolist(),
                'tip_quaternion_xyzw': Rotation.from_matrix(T[:3, :3]).as_quat().tolist(),
                'T_world_base': moment.T_world_base[name].tolist(),
                'T_world_tip': T.tolist(),
                'actuation': {
                    c.name: {'value': values[c.name], 'unit': c.unit}
                    for c in panel.slider_coordinates(self.engine, name).values()
                },
            }
        return {
            'assembly': self.assembly.name,
            'world': self.world.name,
            'model': moment.mode,
            'simulated_time_s': moment.time_s,
            'robots': robots,
        }

    # Inverse kinematics, workspace, trace

    def _ask(self) -> None:
        """Request solutions of the target from the present configuration."""
        if self.target_m is None:
            return
        name = self.aimed_robot
        T, viewed = self.engine.moment.T_world_base[name], self.engine.robots[name]
        target_m = T[:3, :3].T @ (self.target_m - T[:3, 3])
        values = viewed.rest | dict(self.engine.values[name])
        self.aim.ask(name, target_m, viewed.q(values))

    def _answered(self, answer: Aimed) -> None:
        """Receive an answer in the thread of the solver."""
        if answer.robot != self.aimed_robot or self.target_m is None:
            return
        self.answer, self.chosen = answer, 0
        if self.follow and answer.drawn:
            why = self._go(answer, 0)
            if why:
                self.follow = False
                self._tell('warning', why)

    def _cloud_of(self, robot: str) -> tuple[np.ndarray, np.ndarray] | None:
        return self._cloud[1] if self._cloud is not None and self._cloud[0] == robot else None

    def _sample_workspace(self) -> None:
        name = self.aimed_robot

        def sample() -> None:
            self._cloud = name, workspace_points(self.engine.robots[name])

        threading.Thread(target=sample, name='view workspace', daemon=True).start()

    def _new_picture(self) -> Picture:
        cloud = self._cloud_of(self.aimed_robot) if self.show_workspace else None
        engine = self.engine
        return Picture(
            self.assembly, self.world, engine.robots, engine.moment, self.aimed_robot, cloud
        )

    def _trace_tip(self, moment: Moment) -> None:
        if self.show_trace and moment.stamp_s - self._traced_s > TRACE_STEP_S:
            self._traced_s = moment.stamp_s
            self._trace.append(moment.T_world_tip[self.aimed_robot][:3, 3])

    def _tell(self, level: Level, text: str) -> None:
        """Add an event, from any thread."""
        self._journal.add(level, 'view', text)


def _moved(T: np.ndarray, frames: np.ndarray) -> np.ndarray:  # noqa: N803  # a pose
    """Return frames (..., 3, 4) in a base as frames in the world."""
    moved = T[:3, :3] @ frames
    moved[..., 3] += T[:3, 3]
    return moved
