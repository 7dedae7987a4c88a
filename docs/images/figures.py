"""Draw figures of the explanations, as SVG and PNG: `python docs/images/figures.py`."""

import math
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from soft_arm_control.tip.controller import ADDED_DAMPING_RATIO
from soft_arm_control.tip.loaded_arm import LoadedArm
from soft_arm_control.tip.stability_margins import stability_margins
from soft_arm_kinematics.arm import load_bellows_arm

FOLDER = Path(__file__).parent
STYLE = (
    '<style>text{font:15px sans-serif}.i{font-style:italic}'
    'path,line,circle,rect{fill:none;stroke:#000;stroke-width:1.5}'
    '.b{stroke:#c50;stroke-width:4}.d{stroke-dasharray:4 4}.f{fill:#f4f4f4}</style>'
    '<defs><marker id="a" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">'
    '<path d="M0,0 L8,4 L0,8 z" style="fill:#000;stroke:none"/></marker></defs>'
)


def svg(name: str, width: int, height: int, parts: list[str]) -> None:
    """Write parts on a white background."""
    size = f'width="{width}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    back = f'<rect width="{width}" height="{height}" style="fill:#fff;stroke:none"/>'
    (FOLDER / name).write_text('\n'.join([head, STYLE, back, *parts, '</svg>', '']))


def text(x: float, y: float, content: str, kind: str = '', anchor: str = 'middle') -> str:
    """Text at a point."""
    return f'<text class="{kind}" x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}">{content}</text>'


def line(points: list[tuple[float, float]], kind: str = '', arrow: bool = True) -> str:
    """Polyline through points, with an arrow at its end."""
    end = ' marker-end="url(#a)"' * arrow
    return f'<path class="{kind}" d="M{" L".join(f"{x:.1f},{y:.1f}" for x, y in points)}"{end}/>'


def arc(x: float, y: float, radius: float, start_rad: float, end_rad: float) -> list:
    """Points of a circle; angles from the x axis, counter-clockwise on the page."""
    angles = [start_rad + (end_rad - start_rad) * k / 40 for k in range(41)]
    return [(x + radius * math.cos(a), y - radius * math.sin(a)) for a in angles]


def segment() -> None:
    """Side view in the bending plane (theta, ell) and the view along z (phi, beta_j)."""
    theta, radius, x, y = math.radians(65), 190.0, 60.0, 270.0
    centre = (x + radius, y)
    backbone = arc(*centre, radius, math.pi, math.pi - theta)
    tip_x, tip_y = backbone[-1]
    along = (math.sin(theta), -math.cos(theta))
    side = [
        text(150, 24, 'in the bending plane'),
        line(backbone, 'b', arrow=False),
        line([(x, y), (x, y - 90)]),
        text(x - 14, y - 84, 'z', 'i'),
        line([(x, y), centre], 'd', arrow=False),
        line([(tip_x, tip_y), centre], 'd', arrow=False),
        line([(tip_x, tip_y), (tip_x + 70 * along[0], tip_y + 70 * along[1])]),
        text(tip_x + 80, tip_y - 24, 'z of the end', '', 'start'),
        line(arc(*centre, 55, math.pi, math.pi - theta)),
        text(centre[0] - 66, y - 32, '\u03b8', 'i'),
        text(x + 18, y - 120, '\u2113', 'i'),
        text(centre[0] + 4, y + 22, 'centre of curvature'),
        text(x, y + 22, 'base'),
    ]
    x, y, ring = 530.0, 165.0, 85.0
    top = [text(x, 24, 'along z, from the end to the base'), f'<circle cx="{x}" cy="{y}" r="3"/>']
    for j, beta in enumerate((90, 210, 330), 1):
        bx, by = arc(x, y, ring, math.radians(beta), 0)[0]
        top += [f'<circle class="f" cx="{bx:.1f}" cy="{by:.1f}" r="26"/>']
        top += [text(bx, by + 5, f'L<tspan dy="4" font-size="11">{j}</tspan>', 'i')]
    phi, beta = math.radians(30), math.radians(210)
    top += [
        line([(x, y), (x + 150, y)]),
        text(x + 158, y + 5, 'x', 'i'),
        line([(x, y), arc(x, y, 140, phi, 0)[0]], 'b', arrow=False),
        text(x + 160, y - 72, 'bending direction'),
        line(arc(x, y, 62, 0, phi)),
        text(x + 74, y - 14, '\u03c6', 'i'),
        line(arc(x, y, 40, 0, beta)),
        text(x - 46, y - 28, '\u03b2<tspan dy="4" font-size="11">2</tspan>', 'i'),
        line([(x, y), arc(x, y, ring, beta, 0)[0]], 'd', arrow=False),
        text(x - 30, y + 40, 'h', 'i'),
    ]
    svg('segment.svg', 760, 310, side + top)


def box(x: float, y: float, *lines: str) -> str:
    """Block of 130 x 56 about a point."""
    parts = [f'<rect class="f" x="{x - 65}" y="{y - 28}" width="130" height="56" rx="4"/>']
    first = y + 5 - 9 * (len(lines) - 1)
    return ''.join(parts + [text(x, first + 18 * k, entry) for k, entry in enumerate(lines)])


def tip_loop() -> None:
    """Block diagram of `TipController`: model inverse, estimated model error and swing."""
    parts = [
        line([(15, 60), (85, 60)]),
        text(45, 50, 'target'),
        box(150, 60, 'differential IK,', 'damping'),
        line([(215, 60), (305, 60)]),
        text(258, 50, 'lengths'),
        box(370, 60, 'inverse of creep', 'and hysteresis'),
        line([(435, 60), (525, 60)]),
        text(478, 50, 'pressures'),
        box(590, 60, 'command', 'shaper'),
        line([(655, 60), (745, 60)]),
        text(698, 50, 'command'),
        box(810, 60, 'valve board,', 'arm'),
        line([(810, 88), (810, 172)]),
        text(818, 135, 'tip', '', 'start'),
        box(810, 200, 'camera,', 'tip_tracker'),
        line([(745, 200), (435, 200)]),
        text(590, 192, 'tip pose'),
        box(370, 200, 'bias filter'),
        line([(305, 200), (150, 200), (150, 88)]),
        text(225, 192, 'model error, swing'),
        line([(770, 88), (770, 130), (370, 130), (370, 172)]),
        text(470, 124, 'measured pressures'),
        line([(590, 130), (590, 88)]),
    ]
    svg('tip_loop.svg', 890, 240, parts)


def margins() -> None:
    """Margins of the tip loop over the workspace of `two_module_arm`, on the virtual rig."""
    arm = load_bellows_arm('two_module_arm', 'virtual')
    random = np.random.default_rng(1)
    low_pa, high_pa = arm.pressure_limits_pa
    lengths_m = arm.lengths(random.uniform(low_pa, high_pa, (400, arm.n_actuators)))
    model = LoadedArm(arm)
    tips_m = np.array([model.at(each_m).tip_m for each_m in lengths_m])
    figure = Figure(figsize=(9.0, 3.6), layout='constrained')
    axes = figure.subplots(1, 2, sharey=True)
    for column, delay_s in enumerate((0.08, 0.25)):
        found = [
            stability_margins(model.modes(each_m), ADDED_DAMPING_RATIO, 0.02, delay_s, 1 / 30, 4e-4)
            for each_m in lengths_m
        ]
        phases_deg = np.degrees([each.phase_rad for each in found])
        axis = axes[column]
        dots = axis.scatter(
            1e3 * np.hypot(tips_m[:, 0], tips_m[:, 1]),
            1e3 * tips_m[:, 2],
            c=[each.gain for each in found],
            s=12,
            vmin=1.0,
            vmax=4.0,
        )
        axis.set_title(
            f'image to command {1e3 * delay_s:.0f} ms,\n'
            f'phase margin {phases_deg.min():.0f} to {phases_deg.max():.0f} deg'
        )
        axis.set_xlabel('distance from the axis of the base [mm]')
    axes[0].set_ylabel('height in the base frame [mm]')
    figure.colorbar(dots, ax=axes, label='gain margin')
    figure.savefig(FOLDER / 'tip_loop_margins.png', dpi=80)


segment()
tip_loop()
margins()
