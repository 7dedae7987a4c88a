"""Tasks of processes that train together, for tests; each process imports this module."""

import numpy as np
import torch

from soft_arm_experiments.training import processes
from soft_arm_experiments.training.network import YolactConfig
from soft_arm_experiments.training.training import Trainer, TrainingSettings
from soft_arm_experiments.training.training_set import TrainingSet
from soft_arm_experiments.vision.coco import Sample
from soft_arm_vision.errors import VisionError
from soft_arm_vision.segmentation.yolact.anchors import AnchorLayout

LAYOUT = AnchorLayout(width_px=96, height_px=64, sizes_px=(16.0, 28.0, 48.0))
CONFIG = YolactConfig(
    ('ring',),
    LAYOUT,
    widths=(8, 8, 12, 16, 16),
    depths=(1, 1, 1, 1),
    pyramid=12,
    prototypes=4,
    depth=False,
)
SETTINGS = TrainingSettings(steps=8, batch=4, crop_px=(96, 64), warm_up=2)


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
    """Train on three squares, different in each process.

    Returns the trainer, and the distance of its weights from their mean over the processes.
    """
    torch.set_num_threads(1)
    data = TrainingSet([square(10 + 20 * processes.part()[0] + k) for k in range(3)], LAYOUT)
    trainer = Trainer(CONFIG, SETTINGS)
    trainer.run(data, None, lambda *_: None, lambda: trainer.step == stop_after)
    weights = torch.cat([p.detach().ravel() for p in trainer.network.parameters()])
    return trainer, float((processes.mean(weights.clone()) - weights).abs().max())
