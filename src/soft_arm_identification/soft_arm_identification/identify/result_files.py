"""Write an identified arm as a rig: robot file, calibrations, report, picture."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from soft_arm_control.tip.dynamics import MAX_CREEP_SHARE, MAX_HYSTERESIS_WEIGHT, Dynamics
from soft_arm_description.calibration import Measurement, save_calibration
from soft_arm_description.rig import Devices, load_rig
from soft_arm_description.robot import Robot
from soft_arm_identification.identify.estimate import Estimate
from soft_arm_identification.identify.identification import Identified
from soft_arm_identification.identify.unknowns import bellows_segments, plays_of
from soft_arm_io.yaml_file import write_yaml
from soft_arm_kinematics.calibration.curve_families import Exponential
from soft_arm_kinematics.calibration.curve_fit import CONFIDENCE_POINTS, CurveFit
from soft_arm_kinematics.calibration.pressure_length import PressureLength

COMMAND = 'softarm identify'
INTERVAL = 1.96  # half-width of the 95 % interval in standard deviations


def save(found: Identified, folder: Path, devices: Devices) -> None:
    """Write a rig with the identified arm, `report.md`, `report.json` and `tip.png`.

    Raises:
        OSError: If a file cannot be written.
    """
    robot = identified_robot(found)
    folder.mkdir(parents=True, exist_ok=True)
    write_yaml(folder / 'robot.yaml', robot_content(robot), f'Made by `{COMMAND}`.')
    write_yaml(folder / 'rig.yaml', {'devices': devices, 'robot': 'robot.yaml'})
    rig = load_rig(folder.resolve())
    measurement = _measurement(found, devices)
    for values in (curves_of(found), dynamics_of(found)):
        save_calibration(rig, values, robot, measurement, made_by=COMMAND)
    (folder / 'report.md').write_text(report(found), encoding='utf-8')
    (folder / 'report.json').write_text(json.dumps(summary(found), indent=2), encoding='utf-8')
    _draw(found, folder / 'tip.png')


def identified_robot(found: Identified) -> Robot:
    """Return the robot file with identified radii, areas and mean curves."""
    segments = []
    for segment in bellows_segments(found.robot):
        a = segment.actuators
        curves = [_curve(found, segment.name, name) for name in a.names]
        lengths_m = np.mean([c.values(np.array(a.curve.pressure_pa)) for c in curves], axis=0)
        curve = a.curve.model_copy(
            update={'length_m': tuple(round(float(length), 6) for length in lengths_m)}
        )
        changed = {
            'centre_radius_m': round(found.value(f'{segment.name}.centre_radius'), 6),
            'effective_area_m2': round(found.value(f'{segment.name}.effective_area'), 9),
            'curve': curve,
        }
        segments.append(segment.model_copy(update={'actuators': a.model_copy(update=changed)}))
    return found.robot.model_copy(update={'segments': tuple(segments)})


def robot_content(robot: Robot) -> dict:
    """Return the content of a robot file."""
    return robot.model_dump(mode='json', exclude_none=True, exclude_defaults=True) | {
        'schema_version': robot.schema_version
    }


def _curve(found: Identified, segment: str, chamber: str) -> Exponential:
    return Exponential(
        value_0=found.value(f'{chamber}.length'),
        slope_0=found.value(f'{chamber}.slope'),
        growth_per_pa=found.value(f'{segment}.growth'),
    )


def curves_of(found: Identified) -> PressureLength:
    """Return the curve of each chamber, over the recorded pressures, with its confidence."""
    places = {unknown.name: i for i, unknown in enumerate(found.tip.unknowns)}
    fits = {}
    for segment in bellows_segments(found.robot):
        for name, limits_pa in zip(segment.chambers, segment.chamber_limits_pa, strict=True):
            curve = _curve(found, segment.name, name)
            low_pa, high_pa = found.pressures_pa[:, found.robot.chambers.index(name)]
            own = [
                places[f'{name}.length'],
                places[f'{name}.slope'],
                places[f'{segment.name}.growth'],
            ]
            if not found.tip.determined[own[1]]:  # it did not move: as in the robot file
                low_pa, high_pa = limits_pa
            at_pa = np.linspace(low_pa, high_pa, CONFIDENCE_POINTS)
            k = curve.growth_per_pa
            grown = np.expm1(k * at_pa) / k
            by_growth = curve.slope_0 * (at_pa * np.exp(k * at_pa) - grown) / k
            rows = np.stack([np.ones_like(at_pa), grown, by_growth], axis=1)
            variance = np.einsum('pi,ij,pj->p', rows, found.tip.covariance[np.ix_(own, own)], rows)
            fits[name] = CurveFit(
                curve=curve,
                pressure_range_pa=(float(low_pa), float(high_pa)),
                residual_rms=0.0,
                residual_max=0.0,
                confidence_pressures_pa=tuple(at_pa.tolist()),
                confidence_95=tuple((INTERVAL * np.sqrt(variance)).tolist()),
            )
    return PressureLength(chambers=fits)


def dynamics_of(found: Identified) -> Dynamics:
    """Return lags, delays and hysteresis."""
    segments = bellows_segments(found.robot)
    thresholds_pa, weights = plays_of(found.value)
    weights = weights * min(1.0, MAX_HYSTERESIS_WEIGHT / max(weights.sum(), 1e-9))
    frequency, damping = found.value('frequency_scale'), found.value('bend_damping_scale')
    damping_s = float(np.mean([segment.damping_time_s for segment in segments]))
    return Dynamics(
        valve_time_constant_s=round(found.value('valve_time_constant'), 6),
        valve_rate_limit_pa_s=round(found.value('valve_rate_limit'), 1),
        valve_delay_s=round(found.value('valve_delay'), 6),
        mechanical_lag_s=round(damping_s * damping / frequency, 6),
        creep_share=round(min(found.value('creep_share'), MAX_CREEP_SHARE), 6),
        creep_time_constant_s=round(found.value('creep_time_constant'), 6),
        camera_delay_s=0.0,
        mode_frequency_scale=round(frequency, 6),
        mode_damping_scale=round(damping, 6),
        hysteresis_thresholds_pa=tuple(np.round(thresholds_pa, 1).tolist()),
        hysteresis_weights=tuple(np.floor(1e6 * weights) / 1e6),
    )


def _measurement(found: Identified, devices: Devices) -> Measurement:
    limits = zip(found.robot.chambers, *found.pressures_pa.tolist(), strict=True)
    return Measurement(
        devices=devices,
        method='prediction errors of the tip in recordings of motion; least squares',
        residuals={'tip_rms_m': found.causes_m[''], 'held_out_rms_m': found.held_out_rms_m},
        limits={f'{name}_pa': (low_pa, high_pa) for name, low_pa, high_pa in limits},
    )


def summary(found: Identified) -> dict[str, Any]:
    """Return parameters, errors and what could not be determined, for JSON."""
    parameters = {}
    for part in filter(None, (found.tip, found.valves)):
        rows = zip(part.unknowns, part.x, part.deviations, part.determined, strict=True)
        for unknown, value, deviation, determined in rows:
            half = INTERVAL * deviation
            parameters[unknown.name] = {
                'value': float(value),
                'unit': unknown.unit,
                'interval_95': [float(value - half), float(value + half)],
                'guess': unknown.guess,
                'determined': bool(determined),
            }
    return {
        'parameters': parameters,
        'derived': {
            name: {
                'value': value,
                'unit': unit,
                'interval_95': [value - INTERVAL * deviation, value + INTERVAL * deviation],
            }
            for name, unit, value, deviation in _derived(found.tip)
        },
        'confounded': [list(pair) for pair in found.tip.confounded],
        'tip_rms_m': found.causes_m[''],
        'tip_rms_without_m': {name: rms for name, rms in found.causes_m.items() if name},
        'held_out': found.held_out,
        'held_out_rms_m': found.held_out_rms_m,
        'held_out_mean_m': found.held_out_mean_m,
        'held_out_mean_before_m': found.before_mean_m,
    }


def _derived(tip: Estimate) -> list[tuple[str, str, float, float]]:
    """Names, units, values and standard deviations of what follows from the parameters."""
    places = {unknown.name: i for i, unknown in enumerate(tip.unknowns)}
    thresholds_pa, weights = plays_of(tip.value)
    by_half_width, by_stiffness = np.zeros((2, len(places)))
    for i, (threshold_pa, weight) in enumerate(zip(thresholds_pa, weights, strict=True), 1):
        by_half_width[places[f'hysteresis_{i}.weight']] = threshold_pa
        by_half_width[places[f'hysteresis_{i}.threshold']] = weight
    frequency = tip.value('frequency_scale')
    by_stiffness[places['frequency_scale']] = 2.0 * frequency
    return [
        (name, unit, float(value), float(np.sqrt(by @ tip.covariance @ by)))
        for name, unit, value, by in (
            ('half-width of the hysteresis', 'Pa', thresholds_pa @ weights, by_half_width),
            ('dynamic / static stiffness', '1', frequency**2, by_stiffness),
        )
    ]


def report(found: Identified) -> str:
    """Return the report in Markdown."""
    content = summary(found)
    lines = [
        f'# Identified: {found.robot.name}',
        f'Held out: {found.held_out}. Tip error there, free run: mean '
        f'{1e3 * found.held_out_mean_m:.2f} mm ({1e3 * found.before_mean_m:.1f} mm with the robot '
        'file).',
        '',
        '| parameter | unit | robot file | estimate | 95 % interval |',
        '|---|---|---|---|---|',
    ]
    for name, row in content['parameters'].items():
        low, high = row['interval_95']
        interval = f'{low:.4g} to {high:.4g}' if row['determined'] else 'not determined'
        lines.append(
            f'| `{name}` | {row["unit"]} | {row["guess"]:.4g} | {row["value"]:.5g} | {interval} |'
        )
    lines += ['', '## Derived', '| value | unit | estimate | 95 % interval |', '|---|---|---|---|']
    for name, row in content['derived'].items():
        low, high = row['interval_95']
        lines.append(f'| {name} | {row["unit"]} | {row["value"]:.4g} | {low:.4g} to {high:.4g} |')
    lines += ['', '## Confounded and undetermined parameters']
    lines += [
        f'- `{one}` and `{other}` (correlation {correlation:+.3f})'
        for one, other, correlation in content['confounded']
    ]
    unknown = [name for name, row in content['parameters'].items() if not row['determined']]
    lines.append(f'- Not determined: {", ".join(f"`{name}`" for name in unknown) or "nothing"}.')
    lines += ['', '## Tip error by cause', '| model | rms [mm] |', '|---|---|']
    for name, rms_m in found.causes_m.items():
        lines.append(f'| {f"without {name}" if name else "whole"} | {1e3 * rms_m:.2f} |')
    return '\n'.join(lines) + '\n'


def _draw(found: Identified, path: Path) -> None:
    """Draw measured and predicted tips of the part that was held out."""
    figure = Figure(figsize=(10, 7), layout='constrained')
    above, below = figure.subplots(2, 1, sharex=True)
    measured_m, predicted_m = found.held_out_m
    for axis, name in enumerate('xyz'):
        above.plot(1e3 * measured_m[:, axis], color=f'C{axis}', label=f'{name} measured')
        above.plot(1e3 * predicted_m[:, axis], ':', color=f'C{axis}', label=f'{name} predicted')
    for predicted, name in ((found.before_m, 'robot file'), (predicted_m, 'identified')):
        below.plot(1e3 * np.linalg.norm(predicted - measured_m, axis=1), label=name)
    above.set(ylabel='tip [mm]', title=f'{found.robot.name}, held out: {found.held_out}')
    below.set(ylabel='error [mm]', xlabel='sample', yscale='log')
    for axes in (above, below):
        axes.legend(fontsize='small', ncols=3)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120)
