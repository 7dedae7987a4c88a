import cv2
import numpy as np
import pytest

from soft_arm_vision.ring.mask_refinement import refine


def overlap(mask, row, column, truth):
    whole = np.zeros_like(truth)
    whole[row : row + mask.shape[0], column : column + mask.shape[1]] = mask
    return (whole & truth).sum() / (whole | truth).sum()


def coarse_of(truth):
    """What a mask at an eighth of the resolution leaves of it, with its first row and column."""
    small = cv2.resize(
        truth.astype(np.float32),
        (truth.shape[1] // 8, truth.shape[0] // 8),
        interpolation=cv2.INTER_AREA,
    )
    coarse = cv2.resize(small, truth.shape[::-1], interpolation=cv2.INTER_NEAREST) > 0.4
    rows, columns = np.flatnonzero(coarse.any(axis=1)), np.flatnonzero(coarse.any(axis=0))
    return coarse[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1], rows[0], columns[0]


@pytest.fixture
def frame(render_ring):
    return render_ring([0.02, -0.01, 0.47], [0.3, 1, 0.2])


def test_edge_becomes_the_pictures(frame):
    mask, row, column = coarse_of(frame.visible)
    before = overlap(mask, row, column, frame.visible)
    refined = overlap(*refine(mask, row, column, frame.colour), frame.visible)
    assert before < 0.87 and refined > 0.97


@pytest.mark.parametrize('exposure', [0.3, 1.6])
def test_exposure_is_tolerated(frame, exposure):
    mask, row, column = coarse_of(frame.visible)
    colour = np.clip(frame.colour * exposure, 0, 255).astype(np.uint8)
    assert overlap(*refine(mask, row, column, colour), frame.visible) > 0.93


def test_mask_that_lost_its_border_gets_it_back_in_a_blurred_picture(frame):
    thin = cv2.erode(frame.visible.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    blurred = cv2.GaussianBlur(frame.colour, (0, 0), 1.5)
    told = overlap(*refine(thin, 0, 0, blurred, 2.0, lost_px=1.0), frame.visible)
    assert told > 0.95 and told > overlap(
        *refine(thin, 0, 0, blurred, 2.0), frame.visible
    ) > overlap(thin, 0, 0, frame.visible)


def test_mask_stays_where_colours_do_not_tell(frame):
    mask, row, column = coarse_of(frame.visible)
    same, again_row, again_column = refine(mask, row, column, np.full_like(frame.colour, 90))
    assert overlap(same, again_row, again_column, frame.visible) == pytest.approx(
        overlap(mask, row, column, frame.visible), abs=0.05
    )


def test_thing_of_its_colour_beside_it_is_not_taken(frame):
    mask, row, column = coarse_of(frame.visible)
    colour = frame.colour.copy()
    rows, columns = np.nonzero(frame.visible)
    beside = np.zeros_like(frame.visible)
    beside[rows.min() : rows.max(), columns.max() + 3 : columns.max() + 60] = True
    colour[beside] = (255, 115, 13)
    assert overlap(*refine(mask, row, column, colour), frame.visible) > 0.8
