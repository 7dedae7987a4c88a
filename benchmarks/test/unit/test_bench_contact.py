"""The bars of the figures that the benchmark reports."""

import numpy as np

from soft_arm_benchmarks.kinematics.contact import contact_figures, modal_figures, section_figures


def test_sections_meet_the_arcs():
    found = section_figures(np.random.default_rng(1))
    assert found['sections_error_max_m'] < 1e-12 and found['sections_orientation_error_max'] < 1e-12


def test_modal_figures_are_better_than_the_papers():
    found = modal_figures(np.random.default_rng(1))
    assert found['modal_fit_worst_m'] < 2.1e-3 and found['modal_held_out_rms_m'] < 1e-3
    assert (
        found['modal_resolved_rate_error_m'] < 0.0326e-3
        and found['modal_resolved_rate_error_pa'] < 0.016 * 6894.76
    )


def test_contact_figures_hold():
    found = contact_figures(np.random.default_rng(1))
    assert found['contact_error_clean_m'] < 0.3e-3 and found['contact_error_noisy_fraction'] < 0.03
    assert (
        found['contact_error_over_cramer_rao'] < 1.5
        and found['contact_error_other_bellows_fraction'] < 0.03
    )
    assert (
        found['contact_false_alarms_per_min'] < 1.0 and found['contact_alarm_after_onset_pa'] > 0.0
    )
