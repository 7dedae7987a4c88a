"""Actuation over time of the robots of a simulation: from formulas of t and from CSV files.

Coordinates are named in the robot file. With several robots, `ROBOT.COORDINATE` selects one robot
and `COORDINATE` every robot that has it.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from soft_arm_description.segments.values import Coordinate
from soft_arm_io.csv_file import CsvFileError, csv_rows
from soft_arm_physics.actuation.formula import parse_formula
from soft_arm_physics.errors import PhysicsError
from soft_arm_physics.simulated_robot import SimulatedRobot

Signal = Callable[[np.ndarray], np.ndarray]  # values at times [s], shapes (n,)
UNIT_ENDINGS = {'Pa': 'pa', 'rad': 'rad', 'm': 'm', 'N m': 'n_m'}


@dataclass(frozen=True)
class Place:
    """A coordinate of one robot: its number in the robot's actuation."""

    robot: str
    index: int
    coordinate: Coordinate


def coordinate_places(robots: Mapping[str, SimulatedRobot]) -> dict[str, list[Place]]:
    """Every name of a coordinate, and the places that it stands for; first one for each place."""
    own: dict[str, list[Place]] = {}
    shared: dict[str, list[Place]] = {}
    for name, robot in robots.items():
        for index, coordinate in enumerate(robot.coordinates):
            place = Place(name, index, coordinate)
            own[coordinate_label(place, len(robots))] = [place]
            shared.setdefault(coordinate.name, []).append(place)
    return own | shared


def coordinate_label(place: Place, robot_count: int) -> str:
    """Name of a coordinate of one robot."""
    name = place.coordinate.name
    return name if robot_count == 1 else f'{place.robot}.{name}'


def column_name(label: str, coordinate: Coordinate) -> str:
    """Column of a CSV file: the name and the unit."""
    return f'{label}_{UNIT_ENDINGS[coordinate.unit]}'


class ActuationPlan:
    """Inputs of the robots of a simulation over time.

    Coordinates without a signal stay at rest.

    Args:
        robots: The robots of a simulation.
        words: `NAME=FORMULA` or paths of CSV files with the columns `time_s` and
            `NAME_UNIT`, linear between rows, constant before the first and after the last.

    Raises:
        PhysicsError: If a name is unknown or given twice, or a formula or file cannot be used.
        OSError: If a file cannot be read.
    """

    def __init__(self, robots: Mapping[str, SimulatedRobot], words: Iterable[str]):
        self._robots = robots
        self._places = coordinate_places(robots)
        self._signals: dict[tuple[str, int], Signal] = {}
        for word in words:
            formula = re.fullmatch(r'\s*([A-Za-z_][\w.]*)\s*=(.*)', word, re.DOTALL)
            if formula:
                self._add(formula[1], parse_formula(formula[2]))
            else:
                self._add_file(word)

    def _add(self, name: str, signal: Signal) -> None:
        if name not in self._places:
            raise PhysicsError(f'unknown coordinate {name!r}: give one of {self._known}')
        for place in self._places[name]:
            key = place.robot, place.index
            if key in self._signals:
                label = coordinate_label(place, len(self._robots))
                raise PhysicsError(f'{label} is given twice: remove one')
            self._signals[key] = signal

    @property
    def _known(self) -> str:
        names = [f'{name} [{p[0].coordinate.unit}]' for name, p in self._places.items()]
        return ', '.join(names)[:160]

    def _add_file(self, path: str) -> None:
        if not os.path.isfile(path):
            raise PhysicsError(
                f'{path!r} is neither NAME=FORMULA nor a file; names are {self._known}'
            )
        with csv_rows(path, PhysicsError) as (columns, rows):
            if 'time_s' not in columns or not rows:
                raise CsvFileError('needs a column time_s and at least one row')
            by_column = {
                column_name(name, places[0].coordinate): name
                for name, places in self._places.items()
            }
            time_s = np.array([row.number('time_s') for row in rows])
            if not (np.diff(time_s) > 0.0).all():
                raise CsvFileError('time_s must rise from row to row')
            for column in columns:
                if column == 'time_s':
                    continue
                if column not in by_column:
                    known = ', '.join(by_column)[:160]
                    raise CsvFileError(f'unknown column {column!r}: give one of {known}')
                values = np.array([row.number(column) for row in rows])
                self._add(by_column[column], _interpolation(time_s, values))

    def values(self, time_s: np.ndarray) -> dict[str, np.ndarray]:
        """Actuation of each robot at times [s] (m,), each (m, n).

        Raises:
            PhysicsError: If a value is outside its limits; names coordinate, time and limit.
        """
        found = {}
        for name, robot in self._robots.items():
            found[name] = np.tile(robot.rest_u, (len(time_s), 1))
            for index, coordinate in enumerate(robot.coordinates):
                signal = self._signals.get((name, index))
                if signal is None:
                    continue
                values = signal(time_s)
                outside = (values < coordinate.low) | (values > coordinate.high)
                if outside.any():
                    i = int(np.argmax(outside))
                    raise PhysicsError(
                        f'{coordinate.name} of {name} is {values[i]:.7g} {coordinate.unit} at '
                        f't = {time_s[i]:g} s, outside {coordinate.low:.7g}..{coordinate.high:.7g} '
                        f'{coordinate.unit}: keep it inside the limits of the robot file'
                    )
                found[name][:, index] = values
        return found


def _interpolation(time_s: np.ndarray, values: np.ndarray) -> Signal:
    return lambda at_s: np.interp(at_s, time_s, values)
