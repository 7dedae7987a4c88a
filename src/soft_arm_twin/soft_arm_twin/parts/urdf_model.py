"""Robots described by URDF: poses of all links at joint values, and their visuals.

One reader serves every robot in a graph: soft ones, whose URDF follows from the robot file, and
others, which publish a `robot_description`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_twin.errors import TwinError
from soft_arm_twin.parts.shapes import shape_surface
from soft_arm_twin.scene import Part

MAX_CHARACTERS = 5_000_000
_MOVING = {'revolute': True, 'continuous': True, 'prismatic': False}


@dataclass(frozen=True, eq=False)
class Visual:
    """A shape of a link.

    Attributes:
        link: Number of the link.
        shape: `box`, `cylinder` or `sphere`.
        size_m: As in `parts.shapes.shape_surface`: edges; radius and length; radius [m].
        T_link_shape: Pose of its centre in the link's frame, (4, 4).
        colour_rgb: Red, green and blue, each in 0..1.
    """

    link: int
    shape: str
    size_m: tuple[float, ...]
    T_link_shape: np.ndarray
    colour_rgb: tuple[float, float, float]


class UrdfModel:
    """A robot description; meshes are left out.

    Args:
        text: URDF.

    Attributes:
        links: Names of the links, each after its parent; the first is the root.
        joint_names: Names of the movable joints, in the order of their links.
        limits: Lowest and highest value of each of them [rad or m]; (-inf, inf) without limits.
        visuals: Boxes, cylinders and spheres.

    Raises:
        TwinError: If the text is not the URDF of a tree.
    """

    def __init__(self, text: str):
        if len(text) > MAX_CHARACTERS or '<!DOCTYPE' in text:
            raise TwinError('the robot description is too long, or has a document type')
        try:
            root = ElementTree.fromstring(text)
            self._read(root)
        except (ElementTree.ParseError, ValueError, KeyError, StopIteration) as error:
            raise TwinError(f'the robot description cannot be read: {error!r}') from error

    def _read(self, root: ElementTree.Element) -> None:
        by_child = {_name(joint, 'child'): joint for joint in root.iterfind('joint')}
        elements = {link.attrib['name']: link for link in root.iterfind('link')}
        children: dict[str, list[str]] = {}
        for child, joint in by_child.items():
            children.setdefault(_name(joint, 'parent'), []).append(child)
        top = [name for name in elements if name not in by_child]
        if len(top) != 1:
            raise ValueError(f'{len(top)} links have no parent, where a tree has one')
        self.links, waiting = list[str](), top
        while waiting:
            name = waiting.pop()
            self.links.append(name)
            waiting += reversed(children.get(name, []))
        self._index = {name: i for i, name in enumerate(self.links)}
        joints = [by_child[name] for name in self.links[1:]]
        self._parent = np.array([self._index[_name(j, 'parent')] for j in joints], dtype=int)
        self._origin = np.array([_pose(j.find('origin')) for j in joints]).reshape(-1, 4, 4)
        moving = [(i, j) for i, j in enumerate(joints) if j.attrib['type'] in _MOVING]
        self.joint_names = [j.attrib['name'] for _, j in moving]
        self._moved = np.array([i for i, _ in moving], dtype=int)
        self._turns = np.array([_MOVING[j.attrib['type']] for _, j in moving], dtype=bool)
        axes = np.array([_numbers(j.find('axis'), 'xyz', '1 0 0') for _, j in moving])
        axes = axes.reshape(-1, 3)
        self._axes = axes / np.linalg.norm(axes, axis=1, keepdims=True)
        self.limits = [_limits(j) for _, j in moving]
        colours = {
            m.attrib['name']: c for m in root.iterfind('material') if (c := _colour(m)) is not None
        }
        self.visuals = [
            visual
            for name, link in elements.items()
            for element in link.iterfind('visual')
            if (visual := _visual(self._index[name], element, colours)) is not None
        ]

    def index(self, link: str) -> int:
        """Return the number of a link; KeyError if the name is unknown."""
        return self._index[link]

    def values_of(self, given: Mapping[str, float]) -> np.ndarray | None:
        """Return the joint values (n,) of these names; None if one is missing or not finite."""
        values = np.array([given.get(name, np.nan) for name in self.joint_names])
        return values if np.isfinite(values).all() else None

    def poses(self, values: np.ndarray) -> np.ndarray:
        """Return the poses of all links in the root's frame, (links, 4, 4) [m].

        Args:
            values: Joint values in the order of `joint_names` [rad or m], (n,).
        """
        steps = self._origin.copy()
        turned = self._moved[self._turns]
        rotations = Rotation.from_rotvec(self._axes[self._turns] * values[self._turns, None])
        steps[turned, :3, :3] = steps[turned, :3, :3] @ rotations.as_matrix()
        slid = self._moved[~self._turns]
        offsets_m = self._axes[~self._turns] * values[~self._turns, None]
        steps[slid, :3, 3] += (steps[slid, :3, :3] @ offsets_m[..., None])[..., 0]
        poses = np.empty((len(self.links), 4, 4))
        poses[0] = np.eye(4)
        for i, parent in enumerate(self._parent):
            np.matmul(poses[parent], steps[i], out=poses[i + 1])
        return poses


def urdf_parts(
    model: UrdfModel, first_frame: int, group: str = 'robots', source: str = ''
) -> list[Part]:
    """Return the visible links of a robot description as parts; meshes are left out.

    Args:
        model: The robot description.
        first_frame: Index of the frame of the first link; the others follow in their order.
        group: Group of the parts.
        source: Name of the age of the joint values.
    """
    parts = []
    for number, visual in enumerate(model.visuals):
        vertices_m, triangles = shape_surface(visual.shape, visual.size_m)
        T, frame = visual.T_link_shape, first_frame + visual.link
        name = f'{model.links[visual.link]} {number + 1}'
        vertices_m = vertices_m @ T[:3, :3].T + T[:3, 3]
        parts.append(
            Part.rigid(
                name,
                group,
                visual.colour_rgb,
                frame,
                vertices_m,
                triangles,
                selectable=True,
                source=source,
            )
        )
    return parts


def _name(joint: ElementTree.Element, end: str) -> str:
    return next(joint.iterfind(end)).attrib['link']


def _numbers(element: ElementTree.Element | None, key: str, default: str) -> np.ndarray:
    text = default if element is None else element.get(key, default)
    numbers = np.array([float(word) for word in text.split()])
    if len(numbers) != len(default.split()) or not np.isfinite(numbers).all():
        raise ValueError(f'{key}="{text[:40]}"')
    return numbers


def _pose(origin: ElementTree.Element | None) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = _numbers(origin, 'xyz', '0 0 0')
    T[:3, :3] = Rotation.from_euler('xyz', _numbers(origin, 'rpy', '0 0 0')).as_matrix()
    return T


def _limits(joint: ElementTree.Element) -> tuple[float, float]:
    limit = joint.find('limit')
    if limit is None or joint.attrib['type'] == 'continuous':
        return -np.inf, np.inf
    return float(limit.get('lower', 0.0)), float(limit.get('upper', 0.0))


def _colour(material: ElementTree.Element | None) -> tuple[float, float, float] | None:
    colour = None if material is None else material.find('color')
    if colour is None:
        return None
    r, g, b, _ = _numbers(colour, 'rgba', '0.8 0.8 0.8 1')
    return float(r), float(g), float(b)


def _visual(
    link: int, element: ElementTree.Element, colours: dict[str, tuple[float, float, float]]
) -> Visual | None:
    shape = next(iter(next(element.iterfind('geometry'))))
    if shape.tag == 'box':
        size_m = tuple(_numbers(shape, 'size', '0 0 0').tolist())
    elif shape.tag in ('cylinder', 'sphere'):
        keys = ('radius', 'length') if shape.tag == 'cylinder' else ('radius',)
        size_m = tuple(float(shape.attrib[key]) for key in keys)
    else:
        return None
    material = element.find('material')
    named = '' if material is None else material.get('name', '')
    colour = _colour(material) or colours.get(named, (0.8, 0.8, 0.8))
    return Visual(link, shape.tag, size_m, _pose(element.find('origin')), colour)
