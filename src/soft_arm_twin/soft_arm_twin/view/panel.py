"""Side panel of a view: controls, values, states and explanations."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from soft_arm_description.segments import Coordinate
from soft_arm_kinematics import BellowsArm
from soft_arm_twin.controls import Button, Choice, Control, Point, Slider, Switch
from soft_arm_twin.source import (
    Age,
    Diagnostic,
    Event,
    Panel,
    Series,
    TextBlock,
    Value,
)
from soft_arm_twin.view.aim import Aimed
from soft_arm_twin.view.engine import LOADING, Engine, Moment
from soft_arm_twin.view.units import shown, step

if TYPE_CHECKING:
    from soft_arm_twin.view.source import ViewSource

AGE_LIMIT_S = 1.0
REACH = 1.2  # limits of the target relative to the robot's length
TARGET = 'Target of the tip'
MIN_REAL_TIME_FACTOR = 0.95
MAX_TIPS, MAX_CONTACTS = 6, 8


def solution_name(k: int) -> str:
    """Return the name of a drawn solution."""
    return 'best solution' if k == 0 else f'rival {k}'


def solution_names(answer: Aimed | None) -> list[str]:
    """Return the names of the drawn solutions."""
    return [solution_name(k) for k in range(len(answer.drawn) if answer else 0)]


def slider_coordinates(engine: Engine, robot: str) -> dict[str, Coordinate]:
    """Return the coordinates with sliders of a robot by name."""
    planes = () if _planes_are_fixed(engine) else engine.robots[robot].planes
    return {c.name: c for c in (*engine.coordinates(robot), *planes)}


def panel_of(view: 'ViewSource', events: tuple[Event, ...]) -> Panel:
    """Return the panel of a view."""
    moment, engine = view.engine.moment, view.engine
    age_s = time.monotonic() - moment.stamp_s
    return Panel(
        controls=tuple(
            replace(control, needs_control=False)  # type: ignore[type-var]  # all are dataclasses
            for control in (*_model(engine), *_aim(view, moment), *_sliders(engine), *_show(view))
        ),
        values=(*_tips(view, moment), *_shape(view), *_running(engine, moment)),
        ages=(Age('model', age_s, AGE_LIMIT_S),),
        diagnostics=_diagnostics(view),
        events=events,
        plots=_plots(view, moment),
        texts=(*_why(view), *_contacts(moment)),
    )


def _model(engine: Engine) -> tuple[Control, ...]:
    return (
        Choice(
            name='model',
            label='Moved by',
            group='Model',
            options=('physics', 'kinematics'),
            value=engine.mode,
        ),
        _button('rest', 'All sliders to rest', 'Model'),
        _button('reset', 'Reset', 'Model'),
    )


def _aim(view: 'ViewSource', moment: Moment) -> tuple[Control, ...]:
    """Return the controls of the target of the selected robot."""
    name, group = view.aimed_robot, TARGET
    T, viewed = moment.T_world_base[name], view.engine.robots[name]
    target_m = moment.T_world_tip[name][:3, 3] if view.target_m is None else view.target_m
    reach_m = REACH * sum(
        s.arc_length_limits_m[1] + s.rigid_length_m for s in viewed.robot.segments
    )
    low_m, high_m = T[:3, 3] - reach_m, T[:3, 3] + reach_m
    names = tuple(solution_names(view.answer))
    reason = '' if view.answer and view.answer.drawn else 'drag the target to where the tip reaches'
    robots = tuple(view.engine.robots)
    choice = Choice(name='robot', label='Robot', group=group, options=robots, value=name)
    return (
        *((choice,) if len(robots) > 1 else ()),
        Point(
            name='target',
            label='Target of the tip',
            group=group,
            low_m=_point(low_m),
            high_m=_point(high_m),
            value_m=_point(np.clip(target_m, low_m, high_m)),
        ),
        Switch(
            name='follow',
            label='The tip follows the target',
            group=group,
            value=view.follow,
        ),
        Switch(
            name='show_solutions',
            label='Show all solutions',
            group=group,
            value=view.show_solutions,
        ),
        *((_solution(names, view.chosen),) if names else ()),
        _button('move', 'Move here', group, reason),
        _button('forget', 'Target back to the tip', group),
    )


def _solution(names: tuple[str, ...], chosen: int) -> Choice:
    value = names[min(chosen, len(names) - 1)]
    return Choice(
        name='solution',
        label='Solution',
        group=TARGET,
        options=names,
        value=value,
    )


def _sliders(engine: Engine) -> list[Control]:
    found: list[Control] = []
    for robot in engine.robots:
        values = engine.values[robot]
        for name, c in slider_coordinates(engine, robot).items():
            found.append(_slider(robot, c, values[name]))
        if _planes_are_fixed(engine):
            reason = 'physics bends in the planes of the robot file: choose kinematics'
            rest = engine.robots[robot].rest
            found += [_slider(robot, c, rest[c.name], reason) for c in engine.robots[robot].planes]
    return found


def _slider(robot: str, c: Coordinate, value: float, reason: str = '') -> Slider:
    unit, per_si = shown(c)
    low, high = c.low * per_si, c.high * per_si
    return Slider(
        name=f'{robot}.{c.name}',
        label=c.name.replace('_', ' '),
        group=robot,
        low=low,
        high=high,
        step=step(low, high),
        value=min(max(value * per_si, low), high),
        unit=unit,
        reason=reason,
    )


def _show(view: 'ViewSource') -> tuple[Control, ...]:
    return (
        Switch(
            name='show_workspace',
            label=f'Workspace of {view.aimed_robot}',
            group='Show',
            value=view.show_workspace,
        ),
        Switch(
            name='show_trace',
            label='Trace of the tip',
            group='Show',
            value=view.show_trace,
        ),
        _button('pose', 'Save poses and sliders', 'Show'),
    )


def _button(name: str, label: str, group: str, reason: str = '') -> Button:
    return Button(name=name, label=label, group=group, reason=reason)


def _planes_are_fixed(engine: Engine) -> bool:
    return engine.mode == 'physics' and engine.physics.simulation is not None


def _tips(view: 'ViewSource', moment: Moment) -> list[Value]:
    tips = list(moment.T_world_tip.items())[:MAX_TIPS]
    found = [
        Value(f'Tip of {name}', axis, round(float(T[k, 3]) * 1e3, 4), 'mm', source='model')
        for name, T in tips
        for k, axis in enumerate('xyz')
    ]
    if view.target_m is not None:
        away_m = view.target_m - moment.T_world_tip[view.aimed_robot][:3, 3]
        error_mm = float(np.linalg.norm(away_m)) * 1e3
        found.append(Value(f'Tip of {view.aimed_robot}', 'from target', error_mm, 'mm'))
    return found


def _shape(view: 'ViewSource') -> list[Value]:
    """Return the lengths of the aimed robot's bellows, as kinematics has them."""
    name = view.aimed_robot
    viewed = view.engine.robots[name]
    if not isinstance(viewed.arm, BellowsArm):
        return []
    values = viewed.rest | dict(view.engine.values[name])
    limits = viewed.arm.pressure_limits_pa
    pressures_pa = np.clip([values[c.name] for c in viewed.driven], *limits)
    lengths_mm = viewed.arm.lengths(pressures_pa) * 1e3
    low_mm, high_mm = viewed.arm.length_limits_m * 1e3
    rows = zip(viewed.driven, lengths_mm, low_mm, high_mm, strict=True)
    return [
        Value('Lengths without load', c.name.replace('_', ' '), float(x), 'mm', None, low, high)
        for c, x, low, high in rows
    ]


def _running(engine: Engine, moment: Moment) -> list[Value]:
    if moment.mode == 'kinematics':
        return []
    forces_n = [float(np.linalg.norm(c.force_n)) for c in moment.contacts]
    return [
        Value('Physics', 'simulated time', moment.time_s, 's', source='model'),
        Value('Physics', 'real-time factor', engine.physics.real_time_factor, ''),
        Value('Physics', 'contacts', float(len(forces_n)), ''),
        Value('Physics', 'largest contact force', max(forces_n, default=0.0), 'N'),
    ]


def _diagnostics(view: 'ViewSource') -> tuple[Diagnostic, ...]:
    p = view.engine.physics
    if p.failed:
        remedy = (
            'press Reset' if p.simulation is not None else 'correct the file, or use kinematics'
        )
        physics = Diagnostic('error', 'physics', p.failed, remedy)
    elif p.text == LOADING:
        physics = Diagnostic('info', 'physics', LOADING, 'compiling takes a minute, once')
    elif view.engine.mode == 'physics' and (p.real_time_factor or 1.0) < MIN_REAL_TIME_FACTOR:
        text = f'runs at {p.real_time_factor:.2f} of real time: this machine is too slow for more'
        physics = Diagnostic('warning', 'physics', text, 'close other programs')
    else:
        text = p.text if view.engine.mode == 'physics' else 'not used'
        physics = Diagnostic('info', 'physics', text)
    return physics, Diagnostic('info', 'inverse kinematics', view.aim.text)


def _plots(view: 'ViewSource', moment: Moment) -> tuple[Series, ...]:
    tip_mm = moment.T_world_tip[view.aimed_robot][:3, 3] * 1e3
    title = f'Tip of {view.aimed_robot}'
    return tuple(
        Series(title, axis, 'mm', moment.stamp_s, float(x))
        for axis, x in zip('xyz', tip_mm, strict=True)
    )


def _why(view: 'ViewSource') -> tuple[TextBlock, ...]:
    title = 'Why this solution'
    if view.answer is None:
        state = '' if view.aim.text == 'ready' else f' Inverse kinematics: {view.aim.text}.'
        return (TextBlock(title, (f'Drag the target of the tip: its solutions follow.{state}',)),)
    return (TextBlock(title, view.answer.lines),)


def _contacts(moment: Moment) -> tuple[TextBlock, ...]:
    if not moment.contacts:
        return ()
    pairs: dict[tuple[str, str], list[float]] = {}
    for c in moment.contacts:
        a, b = (body.split('/')[0] for body in (c.body_a, c.body_b))
        pairs.setdefault((a, b), []).append(float(np.linalg.norm(c.force_n)))
    lines = [
        f'{a} on {b}: {len(forces_n)} points, at most {max(forces_n):.3f} N each'
        for (a, b), forces_n in sorted(pairs.items(), key=lambda item: -max(item[1]))
    ]
    return (TextBlock('Contacts', tuple(lines[:MAX_CONTACTS])),)


def _point(values_m: np.ndarray) -> tuple[float, float, float]:
    x, y, z = (float(v) for v in values_m)
    return x, y, z
