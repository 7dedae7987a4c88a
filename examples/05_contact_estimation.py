"""Contact: where a bending bellows touches something, from its pressure and the pose of its tip."""

import numpy as np

import soft_arm_kinematics as sak
from soft_arm_kinematics.contact import tip_in_contact, tracker_covariance

model = sak.ModalModel.of_segment(sak.load_robot('modal_bellows').segments[0])
covariance = tracker_covariance(position_sigma_m=0.2e-3, angle_sigma_rad=2e-3)
true_site_m, true_onset_pa = 0.6 * model.length_m, 60e3

# What a tracker would see while the pressure rises; the bellows touches something from 60 kPa on.
pressures_pa = np.linspace(0.0, 140e3, 400)
poses, _ = tip_in_contact(model, pressures_pa, true_site_m, true_onset_pa)
noise = np.random.default_rng(0).multivariate_normal(np.zeros(3), covariance, len(poses))

stream = sak.ContactStream(model, covariance)
for pressure_pa, pose in zip(pressures_pa, poses + noise, strict=True):
    if stream.update(pressure_pa, pose).in_contact:
        print(f'contact noticed at {pressure_pa / 1e3:.1f} kPa, {true_onset_pa / 1e3:.1f} is true')
        break

found = sak.locate_contact(model, pressures_pa, poses + noise, covariance)
print(found.message)
print(f'the truth: {true_site_m * 1e3:.2f} mm since {true_onset_pa / 1e3:.1f} kPa')
