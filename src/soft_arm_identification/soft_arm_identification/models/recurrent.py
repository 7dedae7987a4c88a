"""A small recurrent network (GRU), with torch."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from soft_arm_identification.arm_sections import ArmSections
from soft_arm_identification.models.grid import Grid
from soft_arm_identification.models.model import Parameter, Scaling, with_offset
from soft_arm_identification.recording import Recording

HIDDEN = 32
EPOCHS, RATE = 400, 5e-3
SEGMENT = 400  # steps of the sequences that training sees


class Recurrent:
    """Gated recurrent unit from inputs to the tip; its first state follows from the first pose.

    Source: Cho et al., Learning phrase representations using RNN encoder-decoder for statistical
    machine translation, EMNLP 2014.
    """

    def __init__(self, arm: ArmSections):
        self._arm = arm

    def fit(self, recordings: Sequence[Recording]) -> None:
        """Train with Adam on sequences of equal length; see `Model.fit`."""
        torch.manual_seed(0)
        torch.set_num_threads(1)
        self._scaling = Scaling.of(self._arm, recordings)
        grids = [Grid.of(self._arm, self._scaling, recording) for recording in recordings]
        tips_m = np.concatenate([grid.tip_m for grid in grids])
        self._mean_m, self._spread_m = tips_m.mean(axis=0), tips_m.std() + 1e-12
        length = min(SEGMENT, *(len(grid.times_s) for grid in grids))
        inputs, tips, known = [], [], []
        for grid in grids:
            for first in range(0, len(grid.times_s) - length + 1, max(1, length // 2)):
                part = slice(first, first + length)
                inputs.append(grid.inputs[part])
                tips.append((grid.tip_m[part] - self._mean_m) / self._spread_m)
                known.append(grid.known[part])
        u, y = (torch.tensor(np.stack(part), dtype=torch.float32) for part in (inputs, tips))
        mask = torch.tensor(np.stack(known))
        self._network = _Network(u.shape[2])
        optimiser = torch.optim.Adam(self._network.parameters(), lr=RATE)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, EPOCHS)
        for _ in range(EPOCHS):
            optimiser.zero_grad()
            loss = ((self._network(u, y[:, 0]) - y)[mask] ** 2).mean()
            loss.backward()
            nn.utils.clip_grad_norm_(self._network.parameters(), 1.0)
            optimiser.step()
            schedule.step()

    def predict(self, recording: Recording, horizon: int | None = None) -> np.ndarray:
        """Predict the tip; see `Model.predict`."""
        grid = Grid.of(self._arm, self._scaling, recording)
        first = (grid.tip_m[:1] - self._mean_m) / self._spread_m
        with torch.no_grad():
            tips = self._network(
                torch.tensor(grid.inputs[None], dtype=torch.float32),
                torch.tensor(first, dtype=torch.float32),
            )[0].numpy()
        free_m = grid.at(recording.time_s, tips * self._spread_m + self._mean_m)
        return with_offset(free_m, recording.tip_m, horizon)

    @property
    def parameters(self) -> dict[str, Parameter]:
        """Number of weights."""
        count = sum(weights.numel() for weights in self._network.parameters())
        return {'weights': Parameter(float(count), '1')}


class _Network(nn.Module):
    """Inputs (b, g, k) and first tips (b, 3) to tips (b, g, 3), all standardised."""

    def __init__(self, inputs: int):
        super().__init__()
        self.start = nn.Linear(3 + inputs, HIDDEN)
        self.cell = nn.GRU(inputs, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, 3)

    def forward(self, inputs: torch.Tensor, first: torch.Tensor) -> torch.Tensor:
        """Return the tips."""
        start = torch.tanh(self.start(torch.cat([first, inputs[:, 0]], dim=1)))
        return self.out(self.cell(inputs, start[None])[0])
