"""A made-up source with one of everything: a waving tube, a camera, a cloud, all controls."""

import math
import time

import cv2
import numpy as np

from soft_arm_twin.controls import Button, Choice, Point, Slider, Switch, Text
from soft_arm_twin.parts.shapes import shape_surface
from soft_arm_twin.scene import Camera, LegendEntry, Part, Scene
from soft_arm_twin.source import (
    Age,
    Answer,
    Cloud,
    Diagnostic,
    Event,
    Jpeg,
    Panel,
    Series,
    Snapshot,
    TextBlock,
    Value,
)

SECTIONS, AROUND = 30, 24
LENGTH_M, RADIUS_M = 0.3, 0.025
MODEL, VISION, TARGET = (0.0, 0.447, 0.698), (0.902, 0.624, 0.0), (0.0, 0.620, 0.451)  # Okabe-Ito

TARGET_M = (0.1, 0.0, 0.25)


def tube(name, first_frame, colour, **other):
    """Rings halfway between the frames of two sections, so each vertex follows two frames."""
    ring = np.arange(SECTIONS - 1)
    angle = np.linspace(0, 2 * np.pi, AROUND, endpoint=False)
    circle_m = RADIUS_M * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    half_m = np.array([0, 0, LENGTH_M / (SECTIONS - 1) / 2])
    n = len(ring) * AROUND
    i, j = np.meshgrid(ring[:-1], np.arange(AROUND), indexing='ij')
    a, b = i * AROUND + j, i * AROUND + (j + 1) % AROUND
    quads = np.stack([a, b, b + AROUND, a, b + AROUND, a + AROUND], axis=-1)
    return Part(
        name=name,
        group='arm',
        colour_rgb=colour,
        frame_a=first_frame + np.repeat(ring, AROUND),
        frame_b=first_frame + np.repeat(ring + 1, AROUND),
        share_b=np.full(n, 0.5),
        local_a_m=np.tile(circle_m + half_m, (len(ring), 1)),
        local_b_m=np.tile(circle_m - half_m, (len(ring), 1)),
        triangles=quads.reshape(-1, 3),
        **other,
    )


def bent(bend_rad, sections=SECTIONS):
    """Frames of a tube of constant curvature that hangs up from z = 0, shape (sections, 3, 4)."""
    angle = np.linspace(0, bend_rad, sections)
    radius_m = LENGTH_M / bend_rad if abs(bend_rad) > 1e-6 else 1e6
    frames = np.zeros((sections, 3, 4), np.float32)
    frames[:, 0, 0], frames[:, 0, 2] = np.cos(angle), np.sin(angle)
    frames[:, 2, 0], frames[:, 2, 2] = -np.sin(angle), np.cos(angle)
    frames[:, 1, 1] = 1
    frames[:, 0, 3] = radius_m * (1 - np.cos(angle))
    frames[:, 2, 3] = radius_m * np.sin(angle)
    return frames


class WavingTube:
    """`softarm twin` in small; every method is as in `Source`.

    Attributes:
        asked: Commands that arrived, as (control, value, owner).
        releases: How often an owner has gone.
    """

    title = 'Waving tube'

    def __init__(self):
        ball_m, ball = shape_surface('sphere', (1.0,))
        line_m = np.stack([np.linspace(-0.2, 0.2, 20), np.zeros(20), np.full(20, 0.1)], axis=1)
        base_m, box = shape_surface('box', (0.08, 0.08, 0.02))
        n = SECTIONS
        self._scene = Scene(
            parts=(
                tube('tube', 0, MODEL, selectable=True, source='pressures'),
                tube('ghost', n, (0.5, 0.5, 0.5), opacity=0.3),
                Part.rigid('base', 'cell', (0.6, 0.6, 0.6), 2 * n, base_m - [0, 0, 0.01], box),
                Part.rigid('tip by model', 'tips', MODEL, 2 * n + 1, ball_m, ball),
                Part.rigid(
                    'tip by vision', 'tips', VISION, 2 * n + 2, ball_m, ball,
                    opacity=0.5, source='camera',
                ),
                Part.rigid('target', 'tips', TARGET, 2 * n + 3, ball_m, ball),
                Part.rigid('path', 'path', TARGET, 2 * n, line_m, kind='line'),
                Part.rigid('marks', 'path', VISION, 2 * n, line_m[::4], kind='points'),
            ),
            n_frames=2 * n + 4,
            legend=(
                LegendEntry('by model', MODEL, 'sphere'),
                LegendEntry('by vision', VISION, 'ring'),
                LegendEntry('target', TARGET, 'cross'),
            ),
            camera=Camera((0.5, -0.6, 0.4), (0.0, 0.0, 0.15)),
        )  # fmt: skip
        self._start_s = time.monotonic()
        self._values = {
            'pressure': 10.0,
            'bend': 0.8,
            'wave': True,
            'silent': False,
            'plane': 'x',
            'name': '',
            'target': TARGET_M,
        }
        self._camera_s = self._start_s
        self._picture = Jpeg(-1, 0.0, b'')
        self._events = []
        self.asked = []
        self.releases = 0
        self._event('info', 'the tube waves')

    def scene(self):
        return self._scene

    def _bend_rad(self):
        time_s = time.monotonic() - self._start_s
        swing = math.sin(time_s) if self._values['wave'] else 1.0
        return self._values['bend'] * swing

    def snapshot(self):
        now_s = time.monotonic()
        if not self._values['silent']:
            self._camera_s = now_s
        tube_frames, ghost = bent(self._bend_rad()), bent(self._values['bend'])
        others = np.zeros((4, 3, 4), np.float32)
        others[:, [0, 1, 2], [0, 1, 2]] = np.array(
            [[1, 1, 1], [0.012] * 3, [0.03, 0.012, 0.02], [0.012] * 3]
        )
        others[1:3, :, 3] = tube_frames[-1, :, 3]
        others[3, :, 3] = self._values['target']
        return Snapshot(now_s, np.concatenate([tube_frames, ghost, others]))

    def panel(self):
        now_s, value = time.monotonic(), self._values
        bend = self._bend_rad()
        pressure = {'unit': 'kPa', 'low': -20.0, 'high': 90.0}
        return Panel(
            controls=(
                Button(name='vent', label='Vent', group='safety', always=True),
                Slider(
                    name='pressure', label='Bellows 1', group='pressures', step=1.0,
                    value=value['pressure'], **pressure,
                ),
                Slider(
                    name='bend', label='Bend', group='shape', low=-2.0, high=2.0, step=0.05,
                    value=value['bend'], unit='rad', needs_control=False,
                ),
                Switch(
                    name='wave', label='Wave', group='shape', value=value['wave'],
                    needs_control=False,
                ),
                Switch(
                    name='silent', label='Silence the camera', group='tests',
                    value=value['silent'], needs_control=False,
                ),
                Choice(
                    name='plane', label='Plane', group='shape', options=('x', 'y', 'both'),
                    value=value['plane'], needs_control=False,
                ),
                Point(
                    name='target', label='Target', group='target', low_m=(-0.3, -0.3, 0.0),
                    high_m=(0.3, 0.3, 0.4), value_m=value['target'],
                ),
                Text(
                    name='name', label='Name of the run', group='tests', value=value['name'],
                    needs_control=False, max_length=20,
                ),
                Button(
                    name='grasp', label='Grasp', group='target',
                    reason='no gripper in this graph: launch cell.launch.xml',
                ),
                Button(name='pose', label='Save the pose', group='shape', needs_control=False),
                *self._appearing(),
            ),
            values=(
                Value('pressures', 'Bellows 1', value['pressure'] + bend, 'kPa', value['pressure'],
                      -20.0, 90.0, 'pressures'),
                Value('tip', 'Tip error', 1.2, 'mm', source='camera'),
                Value('tip', 'Valve latency', None, 'ms'),
            ),
            ages=(
                Age('pressures', 0.01, 0.5),
                Age('camera', now_s - self._camera_s, 0.5),
                Age('robot', None, 1.0),
            ),
            diagnostics=(
                Diagnostic('info', 'driver', 'exchanges 50 Hz'),
                Diagnostic('warning', 'camera', 'exposure is long', 'switch a lamp on'),
            ),
            events=tuple(self._events[-500:]),
            plots=(
                Series('Pressures', 'Bellows 1', 'kPa', now_s, value['pressure'] + bend),
                Series('Pressures', 'Bellows 1, set point', 'kPa', now_s, value['pressure']),
                Series('Tip', 'Error', 'mm', now_s, 1 + 0.2 * bend),
            ),
            texts=(TextBlock('Why this solution', ('best of 3: least bend', '2nd: 1.4 rad')),),
        )  # fmt: skip

    def _appearing(self):
        if self._values['target'] == TARGET_M:
            return ()
        return (Button(name='back', label='Target back', group='target'),)

    def image(self):
        number = int((time.monotonic() - self._start_s) * 5)
        if number != self._picture.number and not self._values['silent']:
            pixels = np.full((120, 160, 3), 60, np.uint8)
            cv2.circle(pixels, (80 + int(60 * self._bend_rad()), 60), 12, (0, 159, 230), -1)
            data = cv2.imencode('.jpg', pixels)[1].tobytes()
            self._picture = Jpeg(number, time.monotonic(), data)
        return self._picture if self._picture.data else None

    def cloud(self):
        number = int((time.monotonic() - self._start_s) * 10)
        random = np.random.default_rng(number)
        points_m = random.normal(scale=0.02, size=(3000, 3)) + [0.15, 0.1, 0.05]
        return Cloud(number, time.monotonic(), points_m, np.full((3000, 3), 180, np.uint8))

    def command(self, control, value, owner):
        self.asked.append((control, value, owner))
        if control in self._values:
            self._values[control] = value
        self._event('info', f'{control}: {value} asked and accepted')
        if control == 'pose':
            return Answer(True, 'pose of the tube', 'pose.yaml', f'bend_rad: {self._bend_rad()}\n')
        return Answer(True, f'{control} is {value}')

    def released(self):
        self.releases += 1
        self._event('warning', 'control was given back')

    def _event(self, level, text):
        self._events.append(Event(len(self._events), 1.79e9, level, 'tube', text))
