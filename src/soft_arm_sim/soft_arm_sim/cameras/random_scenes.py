"""Labelled RGB-D frames of the ring in random scenes, for training and testing a segmenter.

Every frame is drawn from its own seed, so frame 17 is the same whatever was drawn before it.
Training and held-out scenes share no seed, no family of textures, no shape of clutter except boxes,
no room colours and no direction of light.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
from scipy.ndimage import gaussian_filter, uniform_filter1d, zoom
from scipy.spatial.transform import Rotation

from soft_arm_description.robot import Robot
from soft_arm_sim.cameras.camera import HIDDEN_GROUP, ON_THE_ARM, VirtualCamera
from soft_arm_sim.cameras.offscreen import camera_quaternion
from soft_arm_sim.cameras.parameters import CameraParameters
from soft_arm_sim.cameras.placement import camera_for, jig_for, scale_for
from soft_arm_sim.cameras.scene import (
    ARM_GROUP,
    RING_GROUP,
    TABLE_Z_M,
    bellows_of,
    ring_of,
    scene_spec,
)

CLUTTER = 16
# Closer to its axis a ring shows only its thin end, and no pose can be measured.
MIN_VIEW_ANGLE_DEG = 20.0
_GEOM = mujoco.mjtGeom


@dataclass(frozen=True)
class Domain:
    """Ranges from which a family of scenes is drawn.

    Attributes:
        stream: First part of every frame's seed.
        shapes: Shapes of the clutter.
        textures: Names of texture families.
        hues: Range of the room's colours, 0..1.
        light_side: Side of the camera on which the main light stands, -1 or +1.
        hiding: Probability that each of two pieces of clutter stands between camera and ring.
        orange: Shares of the clutter with the ring's colour; each scene draws one of them.
    """

    stream: int
    shapes: tuple[int, ...]
    textures: tuple[str, ...]
    hues: tuple[float, float]
    light_side: int
    hiding: float
    orange: tuple[float, ...]


_TRAINING_SHAPES = _GEOM.mjGEOM_BOX, _GEOM.mjGEOM_SPHERE, _GEOM.mjGEOM_CYLINDER
_HELD_OUT_SHAPES = _GEOM.mjGEOM_BOX, _GEOM.mjGEOM_ELLIPSOID, _GEOM.mjGEOM_CAPSULE
DOMAINS = {  # hard cases are more frequent in training
    'training': Domain(
        1, _TRAINING_SHAPES, ('clouds', 'stripes'), (0.0, 0.5), 1, 0.5, (0.0, 0.5, 0.8)
    ),
    'held_out': Domain(
        2, _HELD_OUT_SHAPES, ('checks', 'dots'), (0.5, 1.0), -1, 0.35, (0.0, 0.3, 0.7)
    ),
}


@dataclass(frozen=True, eq=False)
class LabelledFrame:
    """One frame and its ground truth.

    Attributes:
        rgb: Shape (h, w, 3), uint8.
        depth: Shape (h, w), uint16, in the camera's depth quanta (mm), 0 = none.
        ring_mask: Visible pixels of the ring, shape (h, w), bool; empty without a ring.
        visible_share: Visible share of the ring's silhouette, 0..1; 0 without a ring.
        T_optical_ring: Pose of the ring, z its axis, shape (4, 4); None without a ring.
    """

    rgb: np.ndarray
    depth: np.ndarray
    ring_mask: np.ndarray
    visible_share: float
    T_optical_ring: np.ndarray | None


def scaled_camera(robot: Robot, scale: float, camera: str = 'virtual') -> CameraParameters:
    """Return a shipped camera, placed for a robot, with an image `scale` times as wide and high.

    The scale error of the depth is set to 0, as if calibrated.

    Args:
        robot: The robot file.
        scale: Size of the colour image, and of the depth aligned to it, relative to the camera's.
        camera: 'virtual', whose depth is exact depth with noise, or 'stereo', whose depth is
            matched in rendered infrared images.
    """
    parameters = camera_for(robot, camera)
    image = parameters.image
    size = {'width_px': round(image.width_px * scale), 'height_px': round(image.height_px * scale)}
    size |= {name: getattr(image, name) * scale for name in ('fx_px', 'fy_px')}
    size |= {name: (getattr(image, name) + 0.5) * scale - 0.5 for name in ('cx_px', 'cy_px')}
    noise = parameters.noise.model_copy(update={'depth_scale_error': 0.0})
    return parameters.model_copy(update={'image': image.model_copy(update=size), 'noise': noise})


class RandomScenes:
    """Draws labelled frames; use and `close` it in the thread that made it (OpenGL).

    Args:
        robot: Robot file of the arm and ring that are shown.
        domain: 'training' or 'held_out'.
        seed: Selects the set of scenes.
        parameters: Of the camera, None: the shipped one as it is placed for the robot. The room is
            built around its nominal mounting, from which the camera itself is moved.
    """

    def __init__(
        self, robot: Robot, domain: str, seed: int = 0, parameters: CameraParameters | None = None
    ):
        self._robot, self._domain, self._seed = robot, DOMAINS[domain], seed
        self._ring = ring_of(robot)
        self.parameters = parameters or camera_for(robot)
        self._scale = scale_for(robot)
        spec = scene_spec(robot, self.parameters)
        # MuJoCo keeps the pose of a geom changeable only if it is not the identity when compiled.
        for i in range(CLUTTER):
            spec.worldbody.add_geom(
                name=f'clutter_{i}',
                type=_GEOM.mjGEOM_BOX,
                size=[0.02] * 3,
                pos=[0.1, 0.1, 0.1],
                quat=[0.8, 0.6, 0, 0],
            )
        self._model = spec.compile()
        self._camera = VirtualCamera(robot, self.parameters, jig_for(robot), seed, self._model)
        self._data = mujoco.MjData(self._model)
        self._clutter = [self._model.geom(f'clutter_{i}').id for i in range(CLUTTER)]
        self._rings = [self._model.geom(name).id for name in ('ring_on_arm', 'ring_on_peg')]
        self._arm = np.flatnonzero(self._model.geom_group == ARM_GROUP)
        others = [*self._clutter, *self._rings, *self._arm]
        self._room = np.setdiff1d(np.flatnonzero(self._model.geom_group == 0), others)
        self._camera_id = self._model.camera('colour').id
        self._R_base_nominal = self.parameters.mounting.T_base_optical_nominal[:3, :3]

    def draw(self, number: int, with_ring: bool = True) -> LabelledFrame:
        """Draw frame `number` of the set."""
        rng = np.random.default_rng([self._domain.stream, self._seed, number])
        qpos = self._pose_arm(rng)
        T_base_ring = self._place_ring(rng, qpos, with_ring)
        T_base_optical = self._place_camera(rng, T_base_ring)
        self._place_clutter(rng, T_base_ring[:3, 3], T_base_optical)
        self._colour(rng)
        self._light(rng, T_base_optical)
        truth = self._camera.capture_truth(qpos)
        geoms = self._camera.geom_image()
        rgb = _photograph(
            _textured(truth.rgb, geoms, self._rings, self._domain.textures, rng),
            self.parameters.noise.colour_gamma,
            rng,
        )
        depth = self._camera.sense_depth(np.where(geoms < 0, np.float32(10.0), truth.depth_m))
        T = np.linalg.inv(T_base_optical) @ T_base_ring
        mask = truth.ring_mask if with_ring else np.zeros_like(truth.ring_mask)
        share = self._visible_share(qpos, mask, T) if mask.any() else 0.0
        return LabelledFrame(rgb, depth, mask, share, T if with_ring else None)

    def close(self) -> None:
        """Free the OpenGL context."""
        self._camera.close()

    def _pose_arm(self, rng: np.random.Generator) -> np.ndarray:
        qpos = np.zeros(self._model.nq)
        for segment in bellows_of(self._robot):
            n = segment.sections
            bend, phi = rng.uniform(0, np.deg2rad(110)), rng.uniform(-np.pi, np.pi)
            stretch_m = rng.uniform(-0.03, 0.06)
            for names, value in (
                ('slide', stretch_m / n),
                ('x', bend * np.cos(phi) / n),
                ('y', bend * np.sin(phi) / n),
            ):
                for i in range(n):
                    joint = f'{self._robot.name}/{segment.name}_{names}_{i}'
                    qpos[self._model.joint(joint).qposadr[0]] = value
        return qpos

    def _place_ring(
        self, rng: np.random.Generator, qpos: np.ndarray, with_ring: bool
    ) -> np.ndarray:
        """Put the ring on the arm or alone; hide it if not `with_ring`. Returns T_base_ring."""
        on_arm = rng.random() < 0.75
        self._camera.place_ring(ON_THE_ARM if on_arm else 0)
        T = np.eye(4)
        if on_arm:
            self._data.qpos[:] = qpos
            mujoco.mj_kinematics(self._model, self._data)
            site = self._model.site(f'{self._robot.name}/tip').id
            T[:3, :3] = self._data.site_xmat[site].reshape(3, 3)
            T[:3, 3] = self._data.site_xpos[site]
        else:
            turn = Rotation.random(random_state=rng)
            T[:3, :3] = turn.as_matrix()
            T[:3, 3] = self._scale * (rng.uniform(-0.1, 0.1, 3) + [0, 0, 0.2])
            self._camera.move_jig(T[:3, 3], turn.as_quat()[[3, 0, 1, 2]])
        if not with_ring:
            self._model.geom_group[self._rings] = HIDDEN_GROUP
        return T

    def _place_camera(self, rng: np.random.Generator, T_base_ring: np.ndarray) -> np.ndarray:
        """Place the camera on its side of the arm, the ring anywhere in the picture.

        Returns T_base_optical.
        """
        for _ in range(20):  # views along the ring's axis are rare, so that the tries suffice
            T = self._camera_pose(rng, T_base_ring[:3, 3])
            sight = T_base_ring[:3, 3] - T[:3, 3]
            if abs(sight @ T_base_ring[:3, 2]) < np.cos(
                np.deg2rad(MIN_VIEW_ANGLE_DEG)
            ) * np.linalg.norm(sight):
                break
        self._model.cam_pos[self._camera_id] = T[:3, 3]
        self._model.cam_quat[self._camera_id] = camera_quaternion(T[:3, :3])
        return T

    def _camera_pose(self, rng: np.random.Generator, ring_m: np.ndarray) -> np.ndarray:
        image, lower = self.parameters.image, 0.08
        pixel = rng.uniform(lower, 1 - lower, 2) * (image.width_px, image.height_px)
        ray = np.array(
            [(pixel[0] - image.cx_px) / image.fx_px, (pixel[1] - image.cy_px) / image.fy_px, 1.0]
        )
        roll = rng.uniform(-180, 180) if rng.random() < 0.2 else rng.normal(0, 12)
        turn = Rotation.from_euler(
            'yxz', [rng.uniform(-70, 70), np.clip(rng.normal(0, 20), -50, 50), roll], degrees=True
        )
        T = np.eye(4)
        T[:3, :3] = self._R_base_nominal @ turn.as_matrix()
        distance_m = np.sqrt(self._scale) * np.exp(rng.uniform(np.log(0.3), np.log(0.75)))
        T[:3, 3] = ring_m - T[:3, :3] @ (ray * distance_m)
        T[2, 3] = min(T[2, 3], TABLE_Z_M * self._scale - 0.06)  # above the table
        return T

    def _place_clutter(
        self, rng: np.random.Generator, ring_m: np.ndarray, T_base_optical: np.ndarray
    ) -> None:
        model, camera_m = self._model, T_base_optical[:3, 3]
        for number, geom in enumerate(self._clutter):
            occludes = number < 2 and rng.random() < self._domain.hiding
            model.geom_type[geom] = rng.choice(self._domain.shapes)
            size = rng.uniform(0.006, 0.03, 3) if occludes else rng.uniform(0.01, 0.07, 3)
            model.geom_size[geom] = size
            model.geom_quat[geom] = Rotation.random(random_state=rng).as_quat()
            if occludes:
                place = (
                    camera_m
                    + rng.uniform(0.45, 0.85) * (ring_m - camera_m)
                    + rng.uniform(-0.045, 0.045, 3)
                )
            else:
                place = ring_m + (0.07 + 2 * size.max() + rng.uniform(0, 0.35)) * _unit(rng)
            near = np.linalg.norm(place - camera_m) < 0.12 + 2 * size.max()
            shown = (occludes or rng.random() < 0.6) and not near
            model.geom_pos[geom], model.geom_group[geom] = place, 0 if shown else HIDDEN_GROUP

    def _colour(self, rng: np.random.Generator) -> None:
        rgba, domain = self._model.geom_rgba, self._domain
        ring_rgb = self._ring.colour_rgb
        hues = domain.hues
        for geoms, saturation in ((self._room, 0.5), (self._clutter, 1.0)):
            colours = [
                _hsv(rng.uniform(*hues), rng.uniform(0, saturation), rng.uniform(0.1, 1.0))
                for _ in geoms
            ]
            rgba[geoms, :3] = colours
        tile = [
            _hsv(rng.uniform(*hues), rng.uniform(0, 0.6), rng.uniform(0.15, 1.0)) for _ in range(4)
        ]
        rgba[self._room, :3] = (
            0.15 * rgba[self._room, :3] + 0.85 * np.array(tile)[rng.integers(0, 4, len(self._room))]
        )
        orange = rng.random(CLUTTER) < rng.choice(domain.orange)
        for geom in np.array(self._clutter)[orange]:
            rgba[geom, :3] = np.clip(ring_rgb + rng.normal(0, 0.08, 3), 0, 1)
        grey = rng.uniform(0.05, 0.35) if rng.random() < 0.8 else rng.uniform(0.3, 0.9)
        rgba[self._arm, :3] = np.clip(
            grey * rng.uniform(0.8, 1.2, (len(self._arm), 1)) + rng.normal(0, 0.03, 3), 0, 1
        )
        rgba[self._rings, :3] = np.clip(
            np.array(ring_rgb) * rng.uniform(0.65, 1.0) + rng.normal(0, 0.05, 3), 0, 1
        )

    def _light(self, rng: np.random.Generator, T_base_optical: np.ndarray) -> None:
        model, lit = self._model, self._scale * np.array([0, 0, 0.25])
        model.vis.headlight.ambient = [rng.uniform(0.3, 0.65)] * 3
        for light in range(model.nlight):
            side = self._domain.light_side if light == 0 else rng.choice([-1, 1])
            place = T_base_optical[:3, 3] + T_base_optical[:3, :3] @ [
                side * rng.uniform(0.2, 1.0),
                -rng.uniform(0, 1.0),
                rng.uniform(-0.3, 0.2),
            ]
            model.light_pos[light], model.light_dir[light] = place, lit - place
            model.light_diffuse[light] = rng.uniform(0.1, 0.8) * rng.uniform(0.8, 1.0, 3)
            model.light_specular[light] = [rng.uniform(0, 0.6)] * 3

    def _visible_share(
        self, qpos: np.ndarray, mask: np.ndarray, T_optical_ring: np.ndarray
    ) -> float:
        alone = (self._camera.geom_image_of_group(qpos, RING_GROUP) >= 0).sum()
        image, ring = self.parameters.image, self._ring
        angle = np.linspace(0, 2 * np.pi, 64, endpoint=False)
        inside = []
        for end in (-0.5, 0.5):
            rim = np.column_stack(
                [
                    ring.radius_m * np.cos(angle),
                    ring.radius_m * np.sin(angle),
                    np.full(64, end * ring.height_m),
                ]
            )
            x, y, z = (rim @ T_optical_ring[:3, :3].T + T_optical_ring[:3, 3]).T
            u, v = image.fx_px * x / z + image.cx_px, image.fy_px * y / z + image.cy_px
            inside.append(
                (u > -0.5)
                & (u < image.width_px - 0.5)
                & (v > -0.5)
                & (v < image.height_px - 0.5)
                & (z > 0)
            )
        return float(mask.sum() / max(alone, 1) * np.mean(inside))


def _unit(rng: np.random.Generator) -> np.ndarray:
    direction = rng.normal(size=3)
    return direction / np.linalg.norm(direction)


def _hsv(hue: float, saturation: float, value: float) -> np.ndarray:
    wheel = np.clip(np.abs((hue * 6 + np.array([0.0, 4.0, 2.0])) % 6 - 3) - 1, 0, 1)
    return value * (1 - saturation + saturation * wheel)


def _texture(kind: str, shape: tuple[int, int], rng: np.random.Generator) -> np.ndarray:
    """Draw a picture with values in -1..1."""
    v, u = np.mgrid[0 : shape[0], 0 : shape[1]] / shape[1]
    turn, period = rng.uniform(0, np.pi), rng.uniform(0.015, 0.12)
    a = (u * np.cos(turn) + v * np.sin(turn)) / period
    b = (v * np.cos(turn) - u * np.sin(turn)) / period
    if kind == 'stripes':
        return np.sign(np.sin(2 * np.pi * a))
    if kind == 'checks':
        return np.sign(np.sin(2 * np.pi * a) * np.sin(2 * np.pi * b))
    if kind == 'dots':
        return np.where(
            (a % 1 - 0.5) ** 2 + (b % 1 - 0.5) ** 2 < rng.uniform(0.03, 0.15), 1.0, -0.3
        )
    coarse = rng.normal(size=(8, 10)), rng.normal(size=(24, 32))
    field = sum(zoom(c, (shape[0] / c.shape[0], shape[1] / c.shape[1]), order=1) for c in coarse)
    return np.clip(field / 2, -1, 1)


def _textured(
    rgb: np.ndarray,
    geoms: np.ndarray,
    rings: list[int],
    kinds: tuple[str, ...],
    rng: np.random.Generator,
) -> np.ndarray:
    """Add textures to all shapes (faint on the ring) and a colour to the empty background.

    Returns the picture as float in 0..1.
    """
    shape = geoms.shape
    count = int(geoms.max()) + 2  # the last element serves index -1, the background
    patterns = np.stack([_texture(rng.choice(kinds), shape, rng) for _ in range(3)])
    which = rng.integers(0, 3, count)
    strength = rng.uniform(0, 0.5, count) * (rng.random(count) < 0.6)
    strength[[ring for ring in rings if ring < count]] = rng.uniform(0, 0.12)
    pattern = np.take_along_axis(patterns, which[geoms][None], axis=0)[0] * strength[geoms]
    base = np.where((geoms < 0)[..., None], rng.uniform(0.05, 0.9, 3), rgb / 255.0)
    tint = rng.uniform(0.6, 1.0, (count, 3))
    return base * (1 + pattern[..., None] * tint[geoms])


def _photograph(image: np.ndarray, gamma: float, rng: np.random.Generator) -> np.ndarray:
    """Apply exposure, white balance, blur and noise of a camera; return uint8."""
    image = image * np.exp(np.clip(rng.normal(0, 0.3), -0.6, 0.5)) * np.exp(rng.normal(0, 0.06, 3))
    image = np.clip(image, 0, 1) ** np.exp(rng.normal(0, 0.15))
    scale = image.shape[1] / 640
    if rng.random() < 0.3:  # motion
        image = uniform_filter1d(
            image, int(rng.integers(2, 2 + max(1, round(8 * scale)))), axis=int(rng.integers(2))
        )
    blur_px = scale * rng.choice([0.6, 1.0, 1.6])
    image = np.stack([gaussian_filter(image[..., i], blur_px) for i in range(3)], axis=-1)
    image = image ** (1 / gamma)
    image = image + rng.normal(0, rng.uniform(0.004, 0.03), image.shape)
    return np.clip(np.rint(255 * image), 0, 255).astype(np.uint8)
