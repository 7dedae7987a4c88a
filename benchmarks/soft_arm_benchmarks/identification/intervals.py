"""Share of the true parameters of simulated arms that lie in their 95 % intervals.

The arms are drawn about a robot file, and their bellows, valves and sensors deviate as in the
pneumatics file. Ramps and steps of 10 s each move all chambers by turns.
"""

import numpy as np

from soft_arm_benchmarks.limits import Figures
from soft_arm_description.robot import Robot
from soft_arm_description.segments import BellowsSegment
from soft_arm_identification.identify.identification import identify
from soft_arm_identification.identify.unknowns import curve_of
from soft_arm_identification.recording import Channels, Recording
from soft_arm_physics.actuation.drive import Mismatch, draw_mismatch
from soft_arm_physics.actuation.pneumatics import Pneumatics, load_pneumatics
from soft_arm_physics.pneumatic_arm import SHIPPED, pneumatic_arm

RADIUS_SD, LENGTH_SD, AREA_RANGE = 0.1, 0.03, 0.3  # relative, about the robot file
KNOTS_S = 1.0, 4.0  # range of the time between random pressures
SHARES = 0.45, 0.9  # range of the largest pressures, of the robot's limits
STEP_SHARE = 0.6  # of pressures in steps, of those in ramps
STEP_S, PHASE_S = 0.02, 10.0
INSIDE = 1.96  # standard deviations


def arm_figures(robot: Robot, seed: int, duration_s: float, noise_m: float) -> Figures:
    """Identify one simulated arm from a robot file that does not describe it exactly.

    Args:
        robot: The robot file; all segments have bellows.
        seed: Draws the arm and its motion.
        duration_s: Of the recording.
        noise_m: Standard deviation of the measured tip on each axis.
    """
    random = np.random.default_rng([seed, 77])
    true = _drawn(robot, random)
    found = identify(robot, [_recorded(true, seed, duration_s, noise_m, random)])
    estimate, truth = found.tip, _truth(true, seed, load_pneumatics(SHIPPED))
    outside = {}
    known = 0
    for i in np.flatnonzero(estimate.determined).tolist():
        name = estimate.unknowns[i].name
        if name in truth:
            known += 1
            score = float((estimate.x[i] - truth[name]) / estimate.deviations[i])
            if abs(score) > INSIDE:
                outside[name] = score
    return {
        f'arm_{seed}': {
            'determined': known,
            'inside': known - len(outside),
            'outside_sd': outside,
            'rough_mean_m': found.before_mean_m,
            'held_out_mean_m': found.held_out_mean_m,
        }
    }


def _drawn(robot: Robot, random: np.random.Generator) -> Robot:
    segments = []
    for segment in robot.segments:
        assert isinstance(segment, BellowsSegment)
        a, length = segment.actuators, 1.0 + LENGTH_SD * random.standard_normal()
        lengths_m = tuple(length * np.array(a.curve.length_m))
        values = {
            'centre_radius_m': a.centre_radius_m * (1.0 + RADIUS_SD * random.standard_normal()),
            'effective_area_m2': a.effective_area_m2 * (1.0 + AREA_RANGE * random.uniform(-1, 1)),
            'curve': a.curve.model_copy(update={'length_m': lengths_m}),
        }
        segments.append(segment.model_copy(update={'actuators': a.model_copy(update=values)}))
    return robot.model_copy(update={'segments': tuple(segments)})


def _recorded(
    robot: Robot, seed: int, duration_s: float, noise_m: float, random: np.random.Generator
) -> Recording:
    arm, knot_s = pneumatic_arm(robot, seed), random.uniform(*KNOTS_S)
    low_pa, high_pa = random.uniform(*SHARES) * robot.pressure_limits_pa
    times_s = np.arange(0.0, duration_s, STEP_S)
    count = int(duration_s / knot_s) + 2
    knots_pa = random.uniform(low_pa, high_pa, (count, len(low_pa)))
    knots_pa[0] = 0.0
    knots_s = knot_s * np.arange(count)
    ramps_pa = np.column_stack([np.interp(times_s, knots_s, k) for k in knots_pa.T])
    steps_pa = STEP_SHARE * knots_pa[(times_s / knot_s).astype(int)]
    in_ramps = (times_s / PHASE_S).astype(int) % 2 == 0
    commands_pa = np.where(in_ramps[:, None], ramps_pa, steps_pa)
    measured_pa, tips_m = [], []
    for command_pa in commands_pa:
        measured_pa.append(arm.robot.sensor_pressures_pa())
        tips_m.append(arm.robot.T_base_tip()[:3, 3])
        arm.robot.actuate(command_pa)
        arm.step(STEP_S)
    tips = np.array(tips_m) + noise_m * random.standard_normal((len(times_s), 3))
    units = ('Pa',) * len(robot.chambers)
    return Recording(
        f'arm {seed}',
        times_s,
        Channels(robot.chambers, units, commands_pa),
        Channels(robot.chambers, units, np.array(measured_pa)),
        ('tip',),
        tips[:, None],
        np.full((len(times_s), 1, 4), np.nan),
        0.2,
    )


def _truth(robot: Robot, seed: int, pneumatics: Pneumatics) -> dict[str, float]:
    """True values by the measured pressures; `tip_delay` and the damping have none."""
    mismatch: Mismatch = draw_mismatch(pneumatics, len(robot.chambers), seed, 0)
    found = {f'{kind}_{axis}': 0.0 for kind in ('base', 'base_rotation', 'tip') for axis in 'xyz'}
    found |= {'frequency_scale': 1.0, 'creep_share': pneumatics.creep.share}
    found['creep_time_constant'] = pneumatics.creep.time_constant_s
    plays = zip(pneumatics.hysteresis.thresholds_pa, pneumatics.hysteresis.weights, strict=True)
    for i, (threshold_pa, weight) in enumerate(plays, 1):
        found[f'hysteresis_{i}.threshold'] = threshold_pa
        found[f'hysteresis_{i}.weight'] = weight
    for segment in robot.segments:
        assert isinstance(segment, BellowsSegment)
        curve, name = curve_of(segment), segment.name
        found[f'{name}.centre_radius'] = segment.actuators.centre_radius_m
        found[f'{name}.effective_area'] = segment.actuators.effective_area_m2
        found[f'{name}.growth'] = curve.growth_per_pa
        for chamber in segment.chambers:
            i = robot.chambers.index(chamber)
            offset_pa = mismatch.sensor_offset_pa[i]
            slope = curve.slope_0 * mismatch.length_gain[i]
            found[f'{chamber}.slope'] = slope * np.exp(-curve.growth_per_pa * offset_pa)
            found[f'{chamber}.length'] = (
                curve.value_0 + mismatch.length_offset_m[i] - slope * offset_pa
            )
    return found
