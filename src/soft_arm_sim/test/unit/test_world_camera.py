import numpy as np

from soft_arm_description.world import load_world
from soft_arm_physics import Simulation
from soft_arm_sim.cameras.world_camera import WorldCameras

TURNED_RAD = 1.2


def brightness(world, turned_rad):
    """Mean brightness of what the camera limb sees with the light limb bent away."""
    sim = Simulation('squid', world, time_step_s=0.001)
    light = sim.robots['light']
    light.actuate([turned_rad, -np.pi / 2, 0.6])
    sim.step(2.0)
    cameras = WorldCameras(sim.model, sim.world.cameras)
    try:
        return float(cameras.draw('viewpoint', sim.data.qpos).mean())
    finally:
        cameras.close()


def test_turning_the_light_limb_away_darkens_the_picture():
    world = load_world('squid_sea')
    towards, away = brightness(world, 0.0), brightness(world, TURNED_RAD)
    assert away < 0.7 * towards
    without = world.model_copy(update={'lights': world.lights[:1]})  # no spot light
    assert without.lights[0].name == 'surface'
    assert brightness(without, 0.0) < 0.5 * towards  # nothing shines from the camera
