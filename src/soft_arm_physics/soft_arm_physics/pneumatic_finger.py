"""A finger that hangs from a robot's flange, on regulators for supply and vacuum, and its object.

It is a simulation of a robot file of single-bend segments on one chamber. The world has
the axes of the flange, which points down until `turn_flange` is called.
"""

import math
import threading

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_description.robot import Robot
from soft_arm_description.segments import SingleBendSegment
from soft_arm_description.world import World
from soft_arm_physics.actuation.pneumatics import load_pneumatics
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.simulation import Simulation

PNEUMATICS = 'four_piece_finger'
DOWNWARDS_M_S2 = (0.0, 0.0, 9.81)  # in the flange's axes, whose z points down
AWAY_M = (10.0, 0.0, 0.0)
TOUCHING_M = 1e-3  # a finger presses less deep into an object that it touches


class PneumaticFinger:
    """One finger; every method may be called from any thread.

    Args:
        robot: Robot file of single-bend segments on one chamber.
        seed: Draws what deviates from the robot file and the sensor's noise. The same seed is the
            same finger.

    Raises:
        PhysicsError: If the robot is not such a finger, or its file lacks keys of the simulation.
    """

    def __init__(self, robot: Robot, seed: int):
        self._segments = [s for s in robot.segments if isinstance(s, SingleBendSegment)]
        if len(robot.chambers) != 1 or len(self._segments) != len(robot.segments):
            raise PhysicsError(
                f'robot {robot.name!r} is not a finger: it needs single_bend segments on one '
                'chamber, such as four_piece_finger'
            )
        self.robot = robot
        self._ends = np.cumsum([s.sections + (s.rigid_length_m > 0.0) for s in self._segments])
        self._edge_m = 2.0 * sum(s.length_m + s.rigid_length_m for s in self._segments)
        size_m = (self._edge_m,) * 3
        cube = RigidBody(name='object', shape='box', size_m=size_m, fixed=True, position_m=AWAY_M)
        world = World(
            schema_version=1,
            name='cell',
            description='',
            gravity_m_s2=DOWNWARDS_M_S2,
            objects=(cube,),
        )
        self._lock = threading.Lock()
        self._simulation = Simulation(robot, world, load_pneumatics(PNEUMATICS), seed)
        self._finger = self._simulation.robot
        self._T_world_base = self._finger.T_world_base()
        self._simulation.settle()

    @property
    def pressure_pa(self) -> float:
        """True gauge pressure in the chamber [Pa]."""
        with self._lock:
            return float(self._finger.pressures_pa[0])

    def sensor_pressure_pa(self) -> float:
        """Present reading of the pressure sensor [Pa] gauge."""
        with self._lock:
            return float(self._finger.sensor_pressures_pa()[0])

    def T_base_backbone(self) -> np.ndarray:  # noqa: N802  # house style: a pose
        """Poses along the finger in its base at the ends of all sections, (n, 4, 4)."""
        with self._lock:
            return np.linalg.inv(self._T_world_base) @ self._finger.T_world_backbone()

    @property
    def piece_angles_rad(self) -> np.ndarray:
        """True bends in the pieces' planes [rad], base to tip, shape (n,)."""
        T = self.T_base_backbone()[np.append(0, self._ends)]
        change = np.linalg.inv(T[:-1]) @ T[1:]
        phi = np.array([s.phi_rad for s in self._segments])
        along = change[:, 0, 2] * np.cos(phi) + change[:, 1, 2] * np.sin(phi)
        return np.arctan2(along, change[:, 2, 2])

    def turn_flange(self, R_base_flange: np.ndarray) -> None:  # noqa: N803
        """Give the flange an orientation, from which its weight's direction follows.

        The inertia of a flange that moves is left out.

        Args:
            R_base_flange: Rotation of the flange in a frame whose z axis points up, shape (3, 3).
        """
        with self._lock:
            self._simulation.model.opt.gravity[:] = -DOWNWARDS_M_S2[2] * R_base_flange[2]

    def place_object(self, gap_m: float | None) -> None:
        """Put an object before the finger, a flat face along the straight finger, or take it away.

        Args:
            gap_m: Distance from the side of the straight finger to the face [m], where positive
                pressure bends it; None: no object.

        Raises:
            PhysicsError: If the gap is not positive, or the finger is where the object would be.
        """
        if gap_m is not None and not (math.isfinite(gap_m) and gap_m > 0.0):
            raise PhysicsError(
                f'gap {gap_m} m must be greater than 0 m: None takes the object away'
            )
        with self._lock:
            before = self._simulation.pose('object')
            self._put(self._T_world_object(gap_m))
            self._simulation.contacts()
            depth_m = -self._simulation.data.contact.dist.min(initial=0.0)
            if depth_m > TOUCHING_M:
                self._put(before)
                raise PhysicsError(
                    f'gap {gap_m:g} m: the finger is {1e3 * depth_m:.1f} mm beyond it; vent the '
                    'finger first, or give a larger gap'
                )

    def object_cube(self) -> tuple[np.ndarray, float] | None:
        """Return the object's pose in the base, (4, 4), and its edge [m]; None: no object."""
        with self._lock:
            T_world_object = self._simulation.pose('object')
        if np.array_equal(T_world_object[:3, 3], AWAY_M):
            return None
        return np.linalg.inv(self._T_world_base) @ T_world_object, self._edge_m

    def _T_world_object(self, gap_m: float | None) -> np.ndarray:  # noqa: N802
        T = np.eye(4)
        if gap_m is None:
            T[:3, 3] = AWAY_M
            return T
        first = self._segments[0]
        radius_m = max(float(s.radius_m(np.array([0.0, 1.0])).max()) for s in self._segments)
        T[:3, :3] = Rotation.from_euler('z', first.phi_rad).as_matrix()
        ahead_m = gap_m + radius_m + self._edge_m / 2
        T[:3, 3] = ahead_m * T[:3, 0] + [0.0, 0.0, self._edge_m / 4]
        return self._T_world_base @ T

    def _put(self, T_world_object: np.ndarray) -> None:  # noqa: N803
        rpy_deg = Rotation.from_matrix(T_world_object[:3, :3]).as_euler('xyz', degrees=True)
        self._simulation.place('object', tuple(T_world_object[:3, 3]), tuple(rpy_deg))

    def advance(
        self,
        dt_s: float,
        positive_target_pa: float,
        negative_target_pa: float,
        positive_trigger: bool,
        negative_trigger: bool,
    ) -> None:
        """Simulate `dt_s` [s] with these set points [Pa] gauge and open (True) or shut valves.

        The regulators hold their set points at 0 and at the limits of the robot file. With both
        valves shut, the chamber is vented. With both open, supply and vacuum work against each
        other.

        Raises:
            PhysicsError: If the simulation diverges.
        """
        low_pa, high_pa = self.robot.pressure_limits_pa[:, 0]
        supply_pa = np.clip(positive_target_pa, 0.0, high_pa)
        vacuum_pa = np.clip(negative_target_pa, low_pa, 0.0)
        with self._lock:
            self._finger.open_valves(supply_pa, vacuum_pa, positive_trigger, negative_trigger)
            self._simulation.step(dt_s)
