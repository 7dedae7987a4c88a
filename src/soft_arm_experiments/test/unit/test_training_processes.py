"""Processes that train together; skipped where torch is not installed."""

import pytest

torch = pytest.importorskip(
    'torch', reason='torch is not installed; training needs requirements/train.in'
)

from learners import answer, complain, learn  # noqa: E402
from soft_arm_experiments.training import processes  # noqa: E402
from soft_arm_vision.errors import VisionError  # noqa: E402


def test_they_take_means_and_heed_each_others_wishes():
    with processes.beside(1, answer, 5.0):
        assert float(processes.mean(torch.tensor([2.0]))) == 3.5
        assert processes.anyone(False) and processes.total(3) == 7 and processes.part() == (0, 2)
    assert processes.part() == (0, 1) and float(processes.mean(torch.tensor([2.0]))) == 2.0


def test_what_stops_one_of_them_is_said():
    with pytest.raises(VisionError, match='no pictures here'), processes.beside(1, complain):
        processes.anyone(False)


def test_two_that_see_other_pictures_learn_the_same_and_stop_together():
    with processes.beside(1, learn):
        together, apart = learn()
    assert together.step == 8 and apart == 0.0
    with processes.beside(1, learn, 3):
        stopped, _ = learn()
    assert stopped.step == 3


def test_two_learn_otherwise_than_one():
    alone, _ = learn()
    with processes.beside(1, learn):
        together, _ = learn()
    weights = [
        torch.cat([p.detach().ravel() for p in trainer.network.parameters()])
        for trainer in (alone, together)
    ]
    assert all(torch.isfinite(w).all() for w in weights) and not torch.allclose(*weights)
