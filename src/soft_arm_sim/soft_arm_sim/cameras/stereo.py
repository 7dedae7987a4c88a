"""Depth as a stereo camera measures it: block matching of a rendered infrared pair.

A projector between the imagers casts dots on the scene. What it does not reach has no dots, what
one imager does not see has no match, and a block that lies across an edge takes the nearer depth:
holes, shadows and fattened edges follow. Nothing here is shared with `depth_noise`.
"""

import cv2
import mujoco
import numpy as np

from soft_arm_kinematics.backends.machine_code import njit
from soft_arm_sim.cameras.offscreen import INFRARED, Offscreen, add_camera
from soft_arm_sim.cameras.parameters import OVERSAMPLING, CameraParameters, Stereo

SHADOW_TOLERANCE = 0.01  # of the depth: what lies farther behind the lit surface is in shadow
SUBPIXELS = 2  # columns that are matched per column of an imager
REFERENCE_M = 0.5  # at this depth `Stereo.laser` is the brightness of a dot


class StereoDepth:
    """Measures depth with a stereo pair; use and `close` it in the thread that made it (OpenGL).

    Args:
        model: A scene with the cameras `colour` and `infrared`.
        parameters: Of the camera, with `stereo`.
        option: MuJoCo's options of drawing.
        seed: Draws the dots and the noise of the imagers.

    Raises:
        SimulationError: If OpenGL is missing.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        parameters: CameraParameters,
        option: mujoco.MjvOption,
        seed: int,
    ):
        assert parameters.stereo is not None
        self._parameters, self._stereo = parameters, parameters.stereo
        stereo = self._stereo
        self._random = np.random.default_rng([seed, 3])
        width, height = stereo.render_size_px
        self._view = Offscreen(model, INFRARED, width, height)
        self._view.option = option
        self._ids = model.camera('colour').id, model.camera(INFRARED).id
        self._pattern = _dots(stereo, np.random.default_rng([seed, 4]))
        v, u = np.mgrid[:height, :width].astype(np.float32)
        self._u, self._v = u, v
        block = stereo.block_px
        self._matcher = cv2.StereoSGBM.create(
            minDisparity=0,
            numDisparities=SUBPIXELS * stereo.disparities,
            blockSize=block,
            P1=2 * block**2,
            P2=8 * block**2,
            disp12MaxDiff=SUBPIXELS,
            preFilterCap=31,
            uniquenessRatio=stereo.uniqueness_percent,
            speckleWindowSize=SUBPIXELS * stereo.speckle_px,
            speckleRange=1,
            mode=cv2.STEREO_SGBM_MODE_SGBM_3WAY,
        )

    def depth(self, data: mujoco.MjData) -> np.ndarray:
        """Measure the scene; return depth aligned to colour in quanta, (h, w) uint16, 0 = none.

        The camera `colour` in `data` has the pose of the colour sensor.
        """
        left, right = self.infrared(data)
        disparity = self._matcher.compute(_widened(left), _widened(right))[:, ::SUBPIXELS]
        return align_nearest(self._in_quanta(disparity), self._parameters)

    def infrared(self, data: mujoco.MjData) -> tuple[np.ndarray, np.ndarray]:
        """Return the noisy images of the left and right imager, each (h, w) uint8."""
        _, lit_m = self._render(data, self._stereo.projector_m)
        left, right = (
            self._irradiance(data, along_m, lit_m) for along_m in (0.0, self._stereo.baseline_m)
        )
        gain = self._stereo.mean_grey / max(float(left.mean()), 1e-6)
        return self._exposed(left, gain), self._exposed(right, gain)

    def close(self) -> None:
        """Free the OpenGL context."""
        self._view.close()

    def _render(self, data: mujoco.MjData, along_m: float) -> tuple[np.ndarray, np.ndarray]:
        """Return grey and depth [m] seen from a place on the baseline, each oversampled float32."""
        colour, infrared = self._ids
        place = np.array(self._stereo.position_m) + [along_m, 0.0, 0.0]
        R = data.cam_xmat[colour].reshape(3, 3)
        data.cam_xpos[infrared] = data.cam_xpos[colour] + R @ (place * [1, -1, -1])
        data.cam_xmat[infrared] = data.cam_xmat[colour]
        rgb, depth_m = self._view.draw(data)
        return cv2.cvtColor(rgb, cv2.COLOR_RGB2GRAY).astype(np.float32) / 255, depth_m

    def _irradiance(self, data: mujoco.MjData, along_m: float, lit_m: np.ndarray) -> np.ndarray:
        """Return an imager's picture of the scene in ambient light and under the dots."""
        stereo = self._stereo
        grey, depth_m = self._render(data, along_m)
        shift_m = OVERSAMPLING * stereo.focal_px * (along_m - stereo.projector_m)
        u = self._u + np.float32(shift_m) / depth_m
        dots = cv2.remap(self._pattern, u, self._v, cv2.INTER_LINEAR)
        front_m = cv2.remap(lit_m, u, self._v, cv2.INTER_NEAREST)
        lit = front_m > (1.0 - SHADOW_TOLERANCE) * depth_m
        laser = stereo.laser * (REFERENCE_M / depth_m) ** 2
        seen = grey * (stereo.ambient + lit * laser * dots)
        return cv2.resize(seen, (stereo.width_px, stereo.height_px), interpolation=cv2.INTER_AREA)

    def _exposed(self, irradiance: np.ndarray, gain: float) -> np.ndarray:
        noise = self._random.standard_normal(irradiance.shape, np.float32)
        image = gain * irradiance + self._stereo.image_sigma * noise
        return np.clip(np.rint(image), 0, 255).astype(np.uint8)

    def _in_quanta(self, disparity: np.ndarray) -> np.ndarray:
        """Return depth in quanta of a disparity in the matcher's unit, both (h, w)."""
        stereo, noise = self._stereo, self._parameters.noise
        nearest_m, farthest_m = noise.depth_range_m
        pixels = np.maximum(disparity, 1) / (SUBPIXELS * cv2.StereoMatcher_DISP_SCALE)
        depth_m = stereo.focal_px * stereo.baseline_m / pixels
        known = (disparity > 0) & (depth_m >= nearest_m) & (depth_m <= farthest_m)
        return np.where(known, np.rint(depth_m / noise.depth_quantum_m), 0).astype(np.uint16)


def add_cameras(
    spec: mujoco.MjSpec, T_base_optical: np.ndarray, parameters: CameraParameters
) -> None:
    """Add the camera `colour` at a pose (4, 4), and `infrared` if there is a stereo pair."""
    image, stereo = parameters.image, parameters.stereo
    add_camera(spec, T_base_optical, image.width_px, image.height_px, image.camera_matrix)
    if stereo is not None:
        add_camera(spec, T_base_optical, *stereo.render_size_px, stereo.render_matrix, INFRARED)


def align_nearest(depth: np.ndarray, parameters: CameraParameters) -> np.ndarray:
    """Align a depth image of the left imager to the colour sensor, in the same quanta.

    A depth pixel fills all colour pixels that its corners span, and of several depths that meet in
    one colour pixel the nearest stays; the depth itself is not changed: `align_images` of
    librealsense.
    """
    stereo, colour, noise = parameters.stereo, parameters.image, parameters.noise
    assert stereo is not None
    out = np.zeros((colour.height_px, colour.width_px), np.uint16)
    imager = np.array([stereo.focal_px, stereo.cx_px, stereo.cy_px])
    lens = np.array([colour.fx_px, colour.fy_px, colour.cx_px, colour.cy_px])
    _align(depth, imager, lens, np.array(stereo.position_m), noise.depth_quantum_m, out)
    return out


@njit(cache=True, nogil=True)
def _align(
    depth: np.ndarray,
    imager: np.ndarray,
    lens: np.ndarray,
    shift_m: np.ndarray,
    quantum_m: float,
    out: np.ndarray,
) -> None:
    focal, cx, cy = imager
    for v in range(depth.shape[0]):
        for u in range(depth.shape[1]):
            if depth[v, u] == 0:
                continue
            z = depth[v, u] * quantum_m
            far = z + shift_m[2]
            x = focal * shift_m[0] / z - cx
            y = focal * shift_m[1] / z - cy
            along, down = lens[0] * z / (focal * far), lens[1] * z / (focal * far)
            x0 = int(np.floor(along * (u - 0.5 + x) + lens[2] + 0.5))
            x1 = int(np.floor(along * (u + 0.5 + x) + lens[2] + 0.5))
            y0 = int(np.floor(down * (v - 0.5 + y) + lens[3] + 0.5))
            y1 = int(np.floor(down * (v + 0.5 + y) + lens[3] + 0.5))
            if x0 < 0 or y0 < 0 or x1 >= out.shape[1] or y1 >= out.shape[0]:
                continue
            for row in range(y0, y1 + 1):
                for column in range(x0, x1 + 1):
                    if out[row, column] == 0 or depth[v, u] < out[row, column]:
                        out[row, column] = depth[v, u]


def _widened(image: np.ndarray) -> np.ndarray:
    """Return an image with `SUBPIXELS` as many columns; column u comes to SUBPIXELS * u."""
    height, width = image.shape
    stretch = np.diag([float(SUBPIXELS), 1.0, 1.0])[:2]
    return cv2.warpAffine(
        image,
        stretch,
        (SUBPIXELS * width, height),
        flags=cv2.INTER_CUBIC,
        borderMode=cv2.BORDER_REPLICATE,
    )


def _dots(stereo: Stereo, random: np.random.Generator) -> np.ndarray:
    """Draw the projector's picture: dots of brightness 1, oversampled as the views are."""
    shape = OVERSAMPLING * stereo.height_px, OVERSAMPLING * stereo.width_px
    picture = np.zeros(shape, np.float32)
    rows, columns = (random.integers(size, size=stereo.dots) for size in shape)
    picture[rows, columns] = 1.0
    sigma = OVERSAMPLING * stereo.dot_sigma_px
    return 2 * np.pi * sigma**2 * cv2.GaussianBlur(picture, (0, 0), sigma)
