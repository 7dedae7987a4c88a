"""`softarm sim robot`: move any robot or assembly in any world: video, plot, table."""

import argparse
import json
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from soft_arm_description.options import known_robot_or_assembly, known_world
from soft_arm_io.command_line import (
    CommandLine,
    number_in,
    output_file,
    plot_file,
    whole_number_in,
)
from soft_arm_physics.errors import PhysicsError

if TYPE_CHECKING:
    from soft_arm_physics.recording import Recording
    from soft_arm_physics.simulation import Simulation

VIDEO_RATE_HZ = 25
_EXAMPLES = """formulas hold numbers, t [s], pi, + - * / %, **, comparisons (1 or 0), and sin, cos,
tan, exp, log, sqrt, abs, sign, floor, min, max. Values are in SI units: Pa gauge, N m, rad, m.

examples:
  softarm sim robot hand --list
  softarm sim robot two_module_arm --actuate 'm1_b1=40e3*sin(pi*t)' --plot out/arm.png
  softarm sim robot hand --actuate 'finger_grasp=0.02*sin(t)' --video out/hand.mp4
  softarm sim robot MINE.yaml --world floor --actuate DRIVE.csv --duration 10 --csv out/mine.csv
  softarm sim robot hand --urdf out/hand.urdf
"""


def main(argv: list[str]) -> int:
    """Entry point; returns the exit code."""
    parser = CommandLine(
        prog='softarm sim robot',
        description='Simulate a robot file or an assembly file, with contact, in a world.',
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        'file',
        type=known_robot_or_assembly,
        help='name or path of a robot file or an assembly file',
    )
    parser.add_argument(
        '--world',
        type=known_world,
        default='empty',
        help='name or path of a world file (default: %(default)s, gravity and nothing else)',
    )
    parser.add_argument(
        '--actuate',
        nargs='+',
        default=[],
        metavar='NAME=FORMULA|CSV',
        help='what the coordinates of --list are over time; the others rest. A CSV file has the '
        'columns time_s and those that --list names',
    )
    parser.add_option('--duration', number_in(0.01, 3600.0), 5.0, 'simulated time [s]', metavar='S')
    parser.add_argument('--video', type=output_file('.mp4'), metavar='F.mp4', help='write a video')
    parser.add_argument('--plot', type=plot_file, metavar='F.png', help='draw actuation and tips')
    parser.add_argument(
        '--csv', type=output_file('.csv'), metavar='F.csv', help='write times, actuation and poses'
    )
    parser.add_argument('--camera', help='camera of the world for --video (default: an overview)')
    parser.add_argument(
        '--width-px',
        type=whole_number_in(64, 4096),
        help="of the video (default: the camera's, or 640)",
    )
    parser.add_option('--time-step-s', number_in(1e-5, 0.01), 0.002, 'time step of the physics [s]')
    parser.add_flag('--list', 'list the coordinates and their limits, and end')
    parser.add_argument(
        '--mjcf', type=output_file('.xml'), metavar='F.xml', help='write the model, and end'
    )
    parser.add_argument(
        '--urdf',
        type=output_file('.urdf'),
        metavar='F.urdf',
        help='write the robots with what carries them for other engines, and end',
    )
    parser.add_json()
    return parser.answer(argv, _simulate)


def _simulate(options: argparse.Namespace) -> int:
    if (options.camera or options.width_px) and not options.video:
        raise PhysicsError('--camera and --width-px are of the video: give --video too')
    # MuJoCo and numba are slow to import: not before the arguments are checked
    from soft_arm_physics.actuation.plan import ActuationPlan
    from soft_arm_physics.recording import draw_recording, write_csv
    from soft_arm_physics.simulation import Simulation

    simulation = Simulation(options.file, options.world, time_step_s=options.time_step_s)
    if options.list:
        _list(simulation, options.json)
        return 0
    if options.mjcf or options.urdf:
        _export(simulation, options)
        return 0
    plan = ActuationPlan(simulation.robots, options.actuate)
    begun_s = time.monotonic()
    recording = _record(simulation, plan, options)
    took_s = time.monotonic() - begun_s
    if options.csv:
        write_csv(recording, simulation, options.csv)
    if options.plot:
        draw_recording(recording, simulation, options.plot)
    warnings = [
        line
        for name, robot in simulation.robots.items()
        for line in robot.outside_limits(recording.bellows_m[name])
    ]
    for line in warnings:
        print(f'warning: {line}', file=sys.stderr)
    _report(recording, took_s, warnings, options)
    return 0


def _record(simulation: 'Simulation', plan: object, options: argparse.Namespace) -> 'Recording':
    from tqdm import tqdm

    from soft_arm_physics.recording import RATE_HZ, record

    with ExitStack() as stack:
        bar = tqdm(
            total=round(options.duration * RATE_HZ) + 1,
            unit_scale=1.0 / RATE_HZ,
            unit='s',
            file=sys.stderr,
            disable=not sys.stderr.isatty(),
        )
        stack.enter_context(bar)
        take = _taker(simulation, options, stack, round(RATE_HZ) // VIDEO_RATE_HZ)

        def each() -> None:
            bar.update()
            take()

        return record(simulation, plan, options.duration, each)  # type: ignore[arg-type]


def _taker(
    simulation: 'Simulation', options: argparse.Namespace, stack: ExitStack, every: int
) -> Callable[[], None]:
    """Return what takes a picture of the video, at every so many-th call."""
    if not options.video:
        return lambda: None
    from soft_arm_physics.pictures.camera import Camera, Video

    width_px = options.width_px
    height_px = width_px and width_px * 3 // 4
    open_now: list[tuple[Camera, Video]] = []
    calls = 0

    def take() -> None:
        nonlocal calls
        if not open_now:  # by now the simulation has begun: no input is bad any more
            camera = stack.enter_context(Camera(simulation, options.camera, width_px, height_px))
            size = camera.width_px, camera.height_px
            open_now.append(
                (camera, stack.enter_context(Video(options.video, VIDEO_RATE_HZ, *size)))
            )
        if calls % every == 0:
            camera, video = open_now[0]
            video.add(camera.picture())
        calls += 1

    return take


def _list(simulation: 'Simulation', as_json: bool) -> None:
    from soft_arm_physics.actuation.plan import column_name, coordinate_places

    places = coordinate_places(simulation.robots)
    rows = [
        {
            'name': name,
            'column': column_name(name, of[0].coordinate),
            'unit': of[0].coordinate.unit,
            'low': of[0].coordinate.low,
            'high': of[0].coordinate.high,
            'robots': [place.robot for place in of],
        }
        for name, of in places.items()
    ]
    if as_json:
        print(json.dumps(rows))
        return
    print(f'{"name":28s} {"column of a CSV file":32s} limits')
    for row in rows:
        print(
            f'{row["name"]:28s} {row["column"]:32s} {row["low"]:.6g} .. {row["high"]:.6g} '
            f'{row["unit"]}'
        )


def _export(simulation: 'Simulation', options: argparse.Namespace) -> None:
    texts = ((options.mjcf, simulation.to_mjcf), (options.urdf, simulation.to_urdf))
    files = [(file, text) for file, text in texts if file]
    for file, text in files:
        file.write_text(text(), encoding='utf-8')
    if options.json:
        print(json.dumps({'files': [str(file) for file, _ in files]}))
        return
    for file, _ in files:
        print(f'written: {file}')


def _report(
    recording: 'Recording', took_s: float, warnings: list[str], options: argparse.Namespace
) -> None:
    files: list[Path] = [f for f in (options.video, options.plot, options.csv) if f]
    tips = {name: T[-1, :3, 3].tolist() for name, T in recording.T_world_tip.items()}
    objects = {name: T[-1, :3, 3].tolist() for name, T in recording.T_world_object.items()}
    simulated_s = float(recording.time_s[-1])
    if options.json:
        found = {
            'simulated_s': simulated_s,
            'took_s': took_s,
            'tips_m': tips,
            'objects_m': objects,
            'contact_count': int(recording.contact_count[-1]),
            'warnings': warnings,
            'files': [str(f) for f in files],
        }
        print(json.dumps(found))
        return
    print(f'{simulated_s:.2f} s simulated in {took_s:.1f} s')
    for what, places in (('tip of', tips), ('object', objects)):
        for name, (x, y, z) in places.items():
            print(f'{what} {name} at [{x:.4f}, {y:.4f}, {z:.4f}] m')
    print(f'{recording.contact_count[-1]} points touch at the end')
    for file in files:
        print(f'written: {file}')
