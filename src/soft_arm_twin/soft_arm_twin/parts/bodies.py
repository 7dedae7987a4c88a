"""Rigid things as parts: bodies of assembly and world files, the ground, links of a URDF."""

from xml.etree import ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

from soft_arm_description.rigid_bodies import RigidBody
from soft_arm_twin.errors import SceneError
from soft_arm_twin.parts.shapes import Surface, shape_surface
from soft_arm_twin.scene import Part

BODY_COLOUR = (0.35, 0.50, 0.70)
GROUND_COLOUR = (0.60, 0.60, 0.58)
GROUND_THICKNESS_M = 1e-3
LINK_COLOUR = (0.93, 0.93, 0.91)


def pose(position_m: tuple[float, ...], rpy_deg: tuple[float, ...] = (0.0, 0.0, 0.0)) -> np.ndarray:
    """T (4, 4) of a position [m] and roll, pitch and yaw about fixed axes [deg]."""
    T = np.eye(4)
    T[:3, :3] = Rotation.from_euler('xyz', rpy_deg, degrees=True).as_matrix()
    T[:3, 3] = position_m
    return T


def body_part(body: RigidBody, frame: int, mesh: Surface | None = None) -> Part:
    """Return a body of an assembly or an object of a world.

    Args:
        body: The body.
        frame: Index of its frame.
        mesh: The surface of its mesh, if it has one, in the body's frame.
    """
    surface = shape_surface(body.shape, body.size_m or ()) if mesh is None else mesh
    colour = body.colour_rgb or BODY_COLOUR
    return Part.rigid(body.name, 'objects', colour, frame, *surface, selectable=True)


def ground_part(height_m: float, width_m: float, frame: int) -> Part:
    """Return a square of level ground about the z axis of a frame; its top is at a height."""
    vertices_m, triangles = shape_surface('box', (width_m, width_m, GROUND_THICKNESS_M))
    vertices_m = vertices_m + [0.0, 0.0, height_m - GROUND_THICKNESS_M / 2]
    return Part.rigid('ground', 'ground', GROUND_COLOUR, frame, vertices_m, triangles)


def urdf_parts(
    urdf: str, first_frame: int, group: str = 'robots', source: str = ''
) -> tuple[list[Part], list[str]]:
    """Return the visible links of a URDF as parts, and the names of all its links.

    The frame of link i, in the order of these names, is `first_frame + i`: where tf has it. Meshes
    are left out: only boxes, cylinders and spheres are drawn.

    Raises:
        SceneError: If the text is no URDF.
    """
    try:
        root = ElementTree.fromstring(urdf)
        links = root.findall('link')
        parts = []
        for i, link in enumerate(links):
            for k, visual in enumerate(link.findall('visual')):
                surface = _visual(visual)
                if surface is None:
                    continue
                name = link.attrib['name'] + (f' {k + 1}' if k else '')
                colour, frame = _colour(visual), first_frame + i
                part = Part.rigid(
                    name, group, colour, frame, *surface, selectable=True, source=source
                )
                parts.append(part)
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        raise SceneError(f'robot description is no URDF ({error}): correct it') from error
    return parts, [link.attrib['name'] for link in links]


def _visual(visual: ElementTree.Element) -> Surface | None:
    geometry = visual.find('geometry')
    if geometry is None:
        return None
    shape = next((s for s in geometry if s.tag in ('box', 'cylinder', 'sphere')), None)
    if shape is None:
        return None
    keys = {'box': ('size',), 'cylinder': ('radius', 'length'), 'sphere': ('radius',)}[shape.tag]
    size_m = tuple(float(x) for key in keys for x in shape.attrib[key].split())
    vertices_m, triangles = shape_surface(shape.tag, size_m)
    origin = visual.find('origin')
    if origin is not None:
        numbers = [[float(x) for x in origin.get(k, '0 0 0').split()] for k in ('xyz', 'rpy')]
        rotation = Rotation.from_euler('xyz', numbers[1]).as_matrix()
        vertices_m = vertices_m @ rotation.T + numbers[0]
    return vertices_m, triangles


def _colour(visual: ElementTree.Element) -> tuple[float, float, float]:
    colour = visual.find('material/color')
    if colour is None:
        return LINK_COLOUR
    red, green, blue = (float(x) for x in colour.attrib['rgba'].split()[:3])
    return red, green, blue
