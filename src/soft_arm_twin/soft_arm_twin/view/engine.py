"""Motion of the model in a thread: pure kinematics, or physics in real time.

Physics is loaded and compiled in a separate thread. It runs at most in real time and reports its
real-time factor. A diverged simulation stops until it is reset.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from soft_arm_description.assembly import Assembly
from soft_arm_description.segments import Coordinate
from soft_arm_description.world import World
from soft_arm_twin.parts.bodies import pose
from soft_arm_twin.parts.robot import robot_frames
from soft_arm_twin.source import Level
from soft_arm_twin.view.robots import Values, ViewedRobot, viewed_robots, world_poses

if TYPE_CHECKING:
    from soft_arm_physics import Contact, Simulation

Mode = Literal['physics', 'kinematics']
Tell = Callable[[Level, str], None]
"""Callback with level and text of an event."""

PERIOD_S = 1.0 / 60.0
MAX_LAG_S = 0.1  # longer delays are skipped, so that robots do not jump
IDLE_PERIOD_S = 0.2
PERIODS_PER_CONTACTS = 12
FACTOR_WINDOW_S = 1.0
LOADING = 'loading; kinematics meanwhile'

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class Moment:
    """State of the model at one time.

    Attributes:
        stamp_s: `time.monotonic()`.
        mode: Model of motion.
        frames: Frames of bodies and objects, then of the robots' parts, (n, 3, 4).
        T_world_base, T_world_tip: Poses by robot, (4, 4).
        time_s: Simulated time [s]; 0 without physics.
        contacts: Contacts.
    """

    stamp_s: float
    mode: Mode
    frames: np.ndarray
    T_world_base: dict[str, np.ndarray]
    T_world_tip: dict[str, np.ndarray]
    time_s: float = 0.0
    contacts: tuple['Contact', ...] = ()


@dataclass
class _Wanted:
    """Requests of the page, guarded by the lock of the engine."""

    mode: Mode
    values: dict[str, dict[str, float]]
    reset: bool = False
    changed: bool = True
    ended: bool = False


@dataclass
class Physics:
    """State of the physics.

    Attributes:
        simulation: None until it is ready.
        text: State in one line.
        failed: Reason for which it cannot run; empty if it can.
        real_time_factor: Simulated time over real time during the last second.
    """

    simulation: 'Simulation | None' = None
    text: str = 'not asked for'
    failed: str = ''
    real_time_factor: float | None = None
    marks: deque[tuple[float, float]] = field(default_factory=deque)


class Engine:
    """Move an assembly in a world from `start` to `stop`; methods are thread-safe.

    Args:
        assembly: Robots and bodies.
        world: Surroundings.
        mode: Model of motion; kinematics is used until physics is ready.
        tell: Callback for events, from any thread.

    Attributes:
        robots: Robots by name.
        moment: Newest state.
        physics: State of the physics.
        settled: Set once physics has been loaded or is not requested.
    """

    def __init__(self, assembly: Assembly, world: World, mode: Mode, tell: Tell):
        self.assembly, self.world = assembly, world
        self.robots: dict[str, ViewedRobot] = viewed_robots(assembly)
        self.physics = Physics()
        self._tell = tell
        self._lock = threading.Condition()
        self._wanted = _Wanted(mode, {n: dict(r.rest) for n, r in self.robots.items()})
        self._threads: list[threading.Thread] = []
        self.settled = threading.Event()
        self._values = self._wanted.values
        self.moment = self._kinematic_moment()

    @property
    def mode(self) -> Mode:
        """Requested model of motion."""
        return self._wanted.mode

    @property
    def values(self) -> Mapping[str, Values]:
        """Requested values of each robot, by coordinate."""
        return self._wanted.values

    def coordinates(self, robot: str) -> tuple[Coordinate, ...]:
        """Return the driven coordinates of a robot with their limits in SI units."""
        simulation = self.physics.simulation
        if self.mode == 'physics' and simulation is not None:
            return simulation.robots[robot].coordinates
        return self.robots[robot].driven

    def start(self) -> None:
        """Start the threads."""
        if self.mode == 'physics':
            self._load()
        else:
            self.settled.set()
        self._threads.append(threading.Thread(target=self._run, name='view engine', daemon=True))
        self._threads[-1].start()

    def stop(self) -> None:
        """End the threads, except for a running compilation."""
        with self._lock:
            self._wanted.ended = True
            self._lock.notify()
        for thread in self._threads:
            if thread.name == 'view engine':
                thread.join()

    def set_mode(self, mode: Mode) -> None:
        """Choose the model of motion; values outside of its limits are set to rest."""
        if mode == 'physics':
            self._load()
        with self._lock:
            self._wanted.mode, self._wanted.changed = mode, True
            self._rest_outside()
            self._lock.notify()

    def set_values(self, robot: str, values: Values) -> None:
        """Request values of coordinates by name, which must be inside their limits."""
        with self._lock:
            self._wanted.values = self._wanted.values | {
                robot: self._wanted.values[robot] | dict(values)
            }
            self._wanted.changed = True
            self._lock.notify()

    def rest(self) -> None:
        """Request the rest values of every robot."""
        for name in self.robots:
            self.set_values(name, self._rest(name))

    def reset(self) -> None:
        """Reset physics to time 0 with all robots at rest."""
        self.rest()
        with self._lock:
            self._wanted.reset = self._wanted.changed = True
            self._lock.notify()

    def _rest(self, robot: str) -> dict[str, float]:
        drive = {c.name: min(max(0.0, c.low), c.high) for c in self.coordinates(robot)}
        return drive | self.robots[robot].rest

    def _rest_outside(self) -> None:
        """Set values that are missing or outside of the present limits to rest."""
        for name in self.robots:
            rest, now = self._rest(name), self._wanted.values[name]
            for c in self.coordinates(name):
                if not c.low <= now.get(c.name, np.nan) <= c.high:
                    now = now | {c.name: rest[c.name]}
            self._wanted.values = self._wanted.values | {name: dict(now)}

    def _load(self) -> None:
        if self.physics.simulation is None and self.physics.text != LOADING:
            self.physics.text, self.physics.failed = LOADING, ''
            thread = threading.Thread(target=self._build, name='view physics', daemon=True)
            self._threads.append(thread)
            thread.start()

    def _build(self) -> None:
        begun_s = time.monotonic()
        try:
            from soft_arm_physics import PhysicsError, Simulation  # slow import

            simulation = Simulation(self.assembly, self.world)
            simulation.step(simulation.model.opt.timestep)
            simulation.reset()
        except PhysicsError as error:
            self._fail(str(error))
            return
        except Exception as error:
            _log.exception('the physics of %s cannot be loaded', self.assembly.name)
            self._fail(f'{type(error).__name__}: {error}')
            return
        finally:
            self.settled.set()
        with self._lock:
            self.physics.simulation, self.physics.text = simulation, 'ready'
            self._rest_outside()
            self._wanted.changed = True
            self._lock.notify()
        self._tell('info', f'physics is ready after {time.monotonic() - begun_s:.1f} s')

    def _fail(self, why: str) -> None:
        with self._lock:
            self.physics.text, self.physics.failed = 'not possible', why
            self._wanted.mode, self._wanted.changed = 'kinematics', True
            self._lock.notify()
        self._tell('error', f'physics is not possible: {why}')

    def _run(self) -> None:
        due_s, count = time.monotonic(), 0
        while True:
            with self._lock:
                stepping = self._steps()
                if not self._wanted.changed:
                    wait_s = due_s - time.monotonic() if stepping else IDLE_PERIOD_S
                    self._lock.wait(max(wait_s, 0.0))
                wanted = self._wanted
                if wanted.ended:
                    return
                changed, reset = wanted.changed, wanted.reset
                wanted.changed = wanted.reset = False
                self._values = wanted.values
            try:
                if reset:
                    self._go_back()
                if self.mode == 'kinematics' or self.physics.simulation is None:
                    self._show_kinematics(changed)
                elif self.physics.failed:
                    self.moment = replace(self.moment, stamp_s=time.monotonic())
                else:
                    count += 1
                    due_s = self._advance(changed, due_s, count % PERIODS_PER_CONTACTS == 1)
            except Exception as error:
                self._stand_still(error)

    def _advance(self, changed: bool, due_s: float, with_contacts: bool) -> float:
        """Step the physics if due; return the time of the next step."""
        if changed:
            self._actuate()
        now_s = time.monotonic()
        if now_s >= due_s:
            self._step()
            due_s = max(due_s + PERIOD_S, now_s - MAX_LAG_S)
        self.moment = self._physical_moment(with_contacts)
        return due_s

    def _steps(self) -> bool:
        p = self.physics
        return self.mode == 'physics' and p.simulation is not None and not p.failed

    def _stand_still(self, error: Exception) -> None:
        """Report an error; physics waits for a reset."""
        known = type(error).__name__ in ('PhysicsError', 'KinematicsError', 'CurveError')
        if not known:
            _log.error('the view of %s stands still', self.assembly.name, exc_info=error)
        why = str(error) if known else f'{type(error).__name__}: {error}'
        if self.mode == 'physics':
            self.physics.failed, self.physics.text = why, 'stands still'
            self.physics.real_time_factor = None
        self._tell('error', why)

    def _go_back(self) -> None:
        simulation = self.physics.simulation
        if simulation is not None:
            simulation.reset()
            self.physics.failed, self.physics.text = '', 'ready'
            self.physics.marks.clear()

    def _actuate(self) -> None:
        simulation = self.physics.simulation
        assert simulation is not None
        for name, robot in simulation.robots.items():
            robot.actuate([self._values[name][c.name] for c in robot.coordinates])

    def _step(self) -> None:
        p = self.physics
        assert p.simulation is not None
        p.simulation.step(PERIOD_S)
        p.marks.append((time.monotonic(), p.simulation.time_s))
        (real_s, simulated_s), (real_now_s, simulated_now_s) = p.marks[0], p.marks[-1]
        if real_now_s - real_s > FACTOR_WINDOW_S:
            p.marks.popleft()
            p.real_time_factor = (simulated_now_s - simulated_s) / (real_now_s - real_s)
        p.text = 'runs'

    def _show_kinematics(self, changed: bool) -> None:
        if changed or self.moment.mode != 'kinematics':
            self.moment = self._kinematic_moment()
        else:
            self.moment = replace(self.moment, stamp_s=time.monotonic())

    def _kinematic_moment(self) -> Moment:
        found = world_poses(self.robots, self.assembly, self._values)
        bodies = (*self.assembly.bodies, *self.world.objects)
        frames = [pose(body.position_m, body.rpy_deg)[None, :3] for body in bodies]
        frames += [robot_frames(robot, poses) for robot, poses in found.values()]
        return Moment(
            time.monotonic(),
            'kinematics',
            np.concatenate(frames).astype(np.float32),
            {name: poses[0] for name, (_, poses) in found.items()},
            {name: poses[-1] for name, (_, poses) in found.items()},
        )

    def _physical_moment(self, with_contacts: bool) -> Moment:
        simulation = self.physics.simulation
        assert simulation is not None
        contacts = tuple(simulation.contacts()) if with_contacts else self.moment.contacts
        found = {name: robot.T_world_backbone() for name, robot in simulation.robots.items()}
        bodies = (*self.assembly.bodies, *self.world.objects)
        frames = [simulation.pose(body.name)[None, :3] for body in bodies]
        frames += [robot_frames(self.robots[name].robot, T) for name, T in found.items()]
        return Moment(
            time.monotonic(),
            'physics',
            np.concatenate(frames).astype(np.float32),
            {name: T[0] for name, T in found.items()},
            {name: T[-1] for name, T in found.items()},
            simulation.time_s,
            contacts,
        )
