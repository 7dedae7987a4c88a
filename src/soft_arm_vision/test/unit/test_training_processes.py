"""Processes that train together; skipped where torch is not installed."""

import numpy as np
import pytest

torch = pytest.importorskip('torch', reason='torch is not installed; training needs requirements/train.in')

from soft_arm_vision.coco import Sample  # noqa: E402
from soft_arm_vision.errors import VisionError  # noqa: E402
from soft_arm_vision.yolact import processes  # noqa: E402
from soft_arm_vision.yolact.anchors import AnchorLayout  # noqa: E402
from soft_arm_vision.yolact.network import YolactConfig  # noqa: E402
from soft_arm_vision.yolact.training import Trainer, TrainingSettings  # noqa: E402
from soft_arm_vision.yolact.training_set import TrainingSet  # noqa: E402

LAYOUT = AnchorLayout(width_px=96, height_px=64, sizes_px=(16.0, 28.0, 48.0))
CONFIG = YolactConfig(('ring',), LAYOUT, widths=(8, 8, 12, 16, 16), depths=(1, 1, 1, 1), pyramid=12, prototypes=4, depth=False)
SETTINGS = TrainingSettings(steps=8, batch=4, cut_out_px=(96, 64), warm_up=2)


def answer(value):
    processes.mean(torch.tensor([value]))
    processes.anyone(True)
    processes.total(4)


def complain():
    raise VisionError('no pictures here')


def square(column):
    rgb, mask = np.full((64, 96, 3), 120, np.uint8), np.zeros((64, 96), bool)
    mask[20:44, column : column + 24] = True
    rgb[mask] = (230, 120, 20)
    return Sample(rgb, mask[None], np.array([0]))


def learn(stop_after=None):
    """Three squares for each process, others in each; returns the trainer, and how far its weights are from the mean of all processes'."""
    torch.set_num_threads(1)
    data = TrainingSet([square(10 + 20 * processes.part()[0] + k) for k in range(3)], LAYOUT)
    trainer = Trainer(CONFIG, SETTINGS)
    trainer.run(data, None, lambda *_: None, lambda: trainer.step == stop_after)
    weights = torch.cat([p.detach().ravel() for p in trainer.network.parameters()])
    return trainer, float((processes.mean(weights.clone()) - weights).abs().max())


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
    weights = [torch.cat([p.detach().ravel() for p in trainer.network.parameters()]) for trainer in (alone, together)]
    assert all(torch.isfinite(w).all() for w in weights) and not torch.allclose(*weights)
