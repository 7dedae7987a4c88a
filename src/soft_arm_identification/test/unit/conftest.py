"""Recordings of other laboratories, which are not part of the repository."""

import os
from pathlib import Path

import pytest

DATA = Path(os.environ.get('SOFT_ARM_DATA', Path(__file__).parents[5] / 'shared/data'))


@pytest.fixture
def recordings_of_others():
    """The folder with real_arms and leaking_chambers."""
    if not DATA.exists():
        pytest.skip(f'no recordings in {DATA}: name their folder in SOFT_ARM_DATA')
    return DATA
