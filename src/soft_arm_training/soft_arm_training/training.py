"""Train with AdamW, averaged weights, and checkpoints from which a run resumes.

The network is fully convolutional: it learns from crops around instances, which show several
times as many instances in the same time as whole images. Step t draws its batch from a random
generator seeded by (seed, t), so that a resumed run gives the same result as an uninterrupted one.
"""

import csv
import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch

from soft_arm_training.losses import Targets, losses
from soft_arm_training.network import Output, Yolact, YolactConfig
from soft_arm_training.training_set import TrainingSet, make_batch
from soft_arm_vision.errors import VisionError
from soft_arm_vision.segmentation.yolact.exported import WINDOW_PX

AVERAGED_STEPS = 300  # time constant of the average of the weights
CHECKPOINT_EVERY_S = 120.0
Batch = tuple[torch.Tensor, Targets]
LOSSES = 'class', 'box', 'mask', 'semantic'


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of a run; a resumed run must have the same ones, except `steps`."""

    steps: int = 2000
    batch: int = 32  # crops
    crop_px: tuple[int, int] = WINDOW_PX  # width and height; multiples of the coarsest stride
    learning_rate: float = 3e-3
    weight_decay: float = 1e-3
    warm_up: int = 200
    falling_share: float = 0.4  # last share of the steps, in which the learning rate falls to 0
    bfloat16: bool = True  # in the network's layers; weights and losses stay in float32
    seed: int = 0
    data: str = ''  # classes, and fingerprints of the labels


@dataclass(eq=False)
class Progress:
    """Progress of a run: one row (step, learning rate, losses, total) per reported step."""

    rows: list[tuple[float, ...]] = field(default_factory=list)

    HEADER = ('step', 'learning_rate', *LOSSES, 'total')

    def write(self, path: Path) -> None:
        """Write the rows as CSV."""
        with path.open('w', newline='') as file:
            csv.writer(file).writerows([self.HEADER, *self.rows])


class Trainer:
    """One run, in memory; `checkpoint` and `resume` carry it over to another process.

    Args:
        config: Configuration of the network.
        settings: Settings of the run.
        start: Network with the initial weights; None: random weights.

    Raises:
        VisionError: If the initial network has another configuration.
    """

    def __init__(
        self, config: YolactConfig, settings: TrainingSettings, start: Yolact | None = None
    ):
        torch.manual_seed(settings.seed)
        self.config = config
        self.settings = settings
        self.step = 0
        self.network, self.averaged = (
            Yolact(config).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            for _ in range(2)
        )
        if start is not None:
            if start.config != config:
                raise VisionError(
                    f'the initial weights are of a network for {start.config.classes}, '
                    f'{start.config.input_channels} channels, not {config.classes}, '
                    f'{config.input_channels}: train without --fine-tune'
                )
            self.network.load_state_dict(start.state_dict())
        self.averaged.load_state_dict(self.network.state_dict())
        self.averaged.eval()
        width_px, height_px = settings.crop_px
        self._anchors = replace(config.layout, width_px=width_px, height_px=height_px).boxes()
        self._optimiser = torch.optim.AdamW(
            self.network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay
        )
        self.progress = Progress()
        self._sums: list[np.ndarray] = []
        # The next batch is drawn while the network learns from the current one.
        self._ahead = ThreadPoolExecutor(1)
        self._batch_ahead: tuple[tuple[int, TrainingSet], Future[Batch]] | None = None

    def run(
        self,
        data: TrainingSet,
        folder: Path,
        report: Callable[[int, float], None],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        """Train to the last step, or until `stop()`.

        Checkpoints go to `folder` every `CHECKPOINT_EVERY_S` and at the end.
        """
        saved = time.monotonic()
        while self.step < self.settings.steps and not stop():
            total = self.advance(data)
            report(self.step, total)
            if time.monotonic() - saved > CHECKPOINT_EVERY_S:
                self.checkpoint(folder)
                saved = time.monotonic()
        self.checkpoint(folder)

    def advance(self, data: TrainingSet) -> float:
        """Make one step; return the sum of the losses."""
        ahead = self._batch_ahead
        if ahead is None or ahead[0] != (self.step, data):
            ahead = self._draw_ahead(self.step, data)
        pictures, targets = ahead[1].result()
        self._draw_ahead(self.step + 1, data)
        rate = self._learning_rate()
        for group in self._optimiser.param_groups:
            group['lr'] = rate
        self.network.train()
        with torch.autocast('cpu', dtype=torch.bfloat16, enabled=self.settings.bfloat16):
            output = self.network(pictures.contiguous(memory_format=torch.channels_last))
        found = losses(Output(*(part.float() for part in vars(output).values())), targets)
        self._optimiser.zero_grad()
        torch.stack(list(found.values())).sum().backward()
        parts = np.array([float(found[name].detach()) for name in LOSSES])
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 10.0)
        self._optimiser.step()
        self._average()
        self.step += 1
        self._sums.append(parts)
        if self.step % 20 == 0:
            mean = np.mean(self._sums, axis=0)
            self.progress.rows.append(
                (self.step, rate, *(round(float(x), 5) for x in (*mean, mean.sum())))
            )
            self._sums = []
        return float(parts.sum())

    def _draw_ahead(
        self, step: int, data: TrainingSet
    ) -> tuple[tuple[int, TrainingSet], Future[Batch]]:
        self._batch_ahead = (step, data), self._ahead.submit(self._batch, step, data)
        return self._batch_ahead

    def _batch(self, step: int, data: TrainingSet) -> Batch:
        rng = np.random.default_rng([self.settings.seed, 3, step, 0])
        drawn = [data.draw(rng, self.settings.crop_px) for _ in range(self.settings.batch)]
        return make_batch(drawn, self._anchors, self.config)

    def _learning_rate(self) -> float:
        s = self.settings
        falling = max(1.0, s.falling_share * s.steps)
        left = min(1.0, (s.steps - self.step) / falling)
        return (
            s.learning_rate
            * min(1.0, (self.step + 1) / s.warm_up)
            * 0.5
            * (1 - math.cos(math.pi * left))
        )

    @torch.no_grad()
    def _average(self) -> None:
        share = 1 / min(self.step + 1, AVERAGED_STEPS)
        mine, theirs = self.averaged.state_dict(), self.network.state_dict()
        for name, value in mine.items():
            if value.dtype.is_floating_point:
                value.lerp_(theirs[name], share)
            else:
                value.copy_(theirs[name])

    def checkpoint(self, folder: Path) -> None:
        """Write `checkpoint.pt` (whole or not at all) and `progress.csv`."""
        folder.mkdir(parents=True, exist_ok=True)
        content = {
            'step': self.step,
            'settings': vars(self.settings),
            'network': self.network.state_dict(),
        }
        content |= {
            'averaged': self.averaged.state_dict(),
            'optimiser': self._optimiser.state_dict(),
            'rows': self.progress.rows,
        }
        part = folder / 'checkpoint.part'
        torch.save(content, part)
        part.replace(folder / 'checkpoint.pt')
        self.progress.write(folder / 'progress.csv')

    def resume(self, folder: Path) -> bool:
        """Resume from the checkpoint in `folder`, if there is one; return whether there is.

        Raises:
            VisionError: If it has another network or other settings.
        """
        path = folder / 'checkpoint.pt'
        if not path.is_file():
            return False
        content = torch.load(path, map_location='cpu', weights_only=True)
        before = {k: tuple(v) if isinstance(v, list) else v for k, v in content['settings'].items()}
        differing = [
            k for k, v in vars(self.settings).items() if k != 'steps' and before.get(k) != v
        ]
        if differing:
            raise VisionError(
                f'{path} was trained with another {", ".join(differing)}: give the same, or '
                'another folder with --output'
            )
        try:
            self.network.load_state_dict(content['network'])
        except RuntimeError as error:
            raise VisionError(
                f'{path} is of another network: {str(error).splitlines()[0]}'
            ) from error
        self.averaged.load_state_dict(content['averaged'])
        self._optimiser.load_state_dict(content['optimiser'])
        self.step, self.progress.rows = content['step'], [tuple(row) for row in content['rows']]
        return True
