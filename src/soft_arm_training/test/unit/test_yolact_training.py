"""YOLACT's network and training; skipped where torch is not installed."""

import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip(
    'torch', reason='torch is not installed; training needs requirements/train.in'
)

from soft_arm_description.robot import load_robot  # noqa: E402
from soft_arm_training import coco  # noqa: E402
from soft_arm_training.cli import train_ring_segmenter, vision_label  # noqa: E402
from soft_arm_training.coco import Sample  # noqa: E402
from soft_arm_training.export import export  # noqa: E402
from soft_arm_training.losses import losses  # noqa: E402
from soft_arm_training.network import (  # noqa: E402
    Output,
    Yolact,
    YolactConfig,
    load_weights,
    save_weights,
)
from soft_arm_training.training import Trainer, TrainingSettings  # noqa: E402
from soft_arm_training.training_set import Crop, TrainingSet, make_batch  # noqa: E402
from soft_arm_vision.clouds.cloud import depth_in_metres  # noqa: E402
from soft_arm_vision.errors import VisionError  # noqa: E402
from soft_arm_vision.segmentation.yolact.anchors import AnchorLayout  # noqa: E402
from soft_arm_vision.segmentation.yolact.exported import ExportedYolact  # noqa: E402
from soft_arm_vision.segmentation.yolact.input_channels import input_channels  # noqa: E402

BAG = Path(__file__).parents[3] / 'soft_arm_calibration/test/data/virtual_rig_bag'
LAYOUT = AnchorLayout(width_px=96, height_px=64, sizes_px=(16.0, 28.0, 48.0))
CONFIG = YolactConfig(
    ('ring', 'gripper'),
    LAYOUT,
    widths=(8, 8, 12, 16, 16),
    depths=(1, 1, 1, 1),
    pyramid=12,
    prototypes=4,
)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def discs(count, seed=0):
    """Pictures of a red or green disc on grey, 0.3 m before the wall behind it."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        v, u = np.mgrid[0:64, 0:96]
        mask = np.hypot(u - rng.uniform(20, 76), v - rng.uniform(20, 44)) < rng.uniform(8, 14)
        rgb = np.full((64, 96, 3), 120, np.uint8)
        rgb[mask] = (230, 40, 40) if i % 2 else (40, 230, 40)
        yield Sample(rgb, mask[None], np.array([i % 2]), np.where(mask, 500, 800).astype(np.uint16))


@pytest.fixture(scope='module')
def data():
    return TrainingSet(discs(12), LAYOUT)


def settings(**changes):
    return TrainingSettings(**{'crop_px': (64, 64), 'bfloat16': False} | changes)


def batch(data, count=4):
    rng = np.random.default_rng(0)
    return make_batch([data.draw(rng) for _ in range(count)], LAYOUT.boxes(), CONFIG)


def test_cut_out_shows_an_instance_well_or_not_at_all(data):
    rng, shown = np.random.default_rng(5), 0
    for _ in range(60):
        picture, depth_m, masks, classes = data.draw(rng, (64, 64))
        assert (
            picture.shape == (64, 64, 3)
            and depth_m.shape == (64, 64)
            and masks.shape[1:] == (64, 64)
            and len(masks) == len(classes)
        )
        shown += len(masks)
        for mask, which in zip(masks, classes, strict=True):
            assert mask.sum() > 0.3 * np.pi * 8**2 * 0.75**2  # of the smallest disc, drawn smallest
            own = picture[mask > 0].mean(axis=0)
            assert own[0 if which else 1] > own[1 if which else 0]  # it keeps its colour
            known = depth_m > 0
            assert np.median(depth_m[known & (mask == 0)]) - np.median(
                depth_m[known & (mask > 0)]
            ) == pytest.approx(0.3, abs=1e-3)
    assert shown > 30


def test_cut_outs_without_an_instance_are_about_what_looks_like_one():
    """A red square, no disc, in one corner of a picture: random crops would seldom show it."""
    blank = np.full((64, 96, 3), 120, np.uint8)
    blank[4:12, 4:12] = (230, 40, 40)
    same = Sample(
        blank, np.zeros((0, 64, 96), bool), np.zeros(0, int), np.full((64, 96), 800, np.uint16)
    )
    data, rng = TrainingSet([*discs(2), *[same] * 20], LAYOUT), np.random.default_rng(0)
    without = [
        crop.picture
        for crop in (data.draw(rng, (32, 32)) for _ in range(80))
        if len(crop.masks) == 0
    ]
    shown = [np.ptp(picture, axis=2).max() > 60 for picture in without]
    assert len(shown) > 60 and np.mean(shown) > 0.6


def test_hidden_instances_are_not_taught():
    seen, hidden = list(discs(2))
    hidden = Sample(hidden.rgb, hidden.masks, hidden.classes, visible_share=np.array([0.1]))
    assert len(TrainingSet([seen, hidden], LAYOUT)) == 1


def test_bfloat16_learns_what_float32_does(data):
    totals = [
        Trainer(CONFIG, settings(steps=4, batch=4, seed=1, bfloat16=b)).advance(data)
        for b in (False, True)
    ]
    assert totals[0] == pytest.approx(totals[1], rel=0.02) and totals[0] != totals[1]


def test_shapes_are_those_of_the_anchors(data):
    pictures, targets = batch(data)
    output = Yolact(CONFIG)(pictures)
    n = len(LAYOUT.boxes())
    assert (
        output.boxes.shape == (4, n, 4)
        and output.scores.shape == (4, n, 3)
        and output.coefficients.shape == (4, n, 4)
    )
    assert output.prototypes.shape == (
        4,
        4,
        16,
        24,
    ) and output.semantic.shape == targets.semantic.shape == (4, 2, 8, 12)
    assert output.coefficients.abs().max() <= 1 and output.prototypes.min() >= 0


def test_losses_of_a_perfect_answer_are_small_and_each_notices_its_fault(data):
    pictures, targets = batch(data)
    labels = targets.labels.clamp(min=0)
    scores = 20 * torch.nn.functional.one_hot(labels, 3).float()
    # one prototype that is the picture's only mask, as logits
    masks = torch.stack([m[0] if len(m) else torch.zeros(16, 24) for m in targets.masks])
    logits = torch.logit(masks.clamp(1e-4, 1 - 1e-4))
    prototypes = torch.stack([logits.clamp(min=0), (-logits).clamp(min=0)], dim=1)
    coefficients = torch.tensor([1.0, -1.0]).expand(4, labels.shape[1], 2)
    semantic = torch.logit(targets.semantic.clamp(1e-4, 1 - 1e-4))
    right = Output(targets.boxes.clone(), scores, coefficients, prototypes, semantic)
    good = losses(right, targets)
    floor = torch.special.entr(masks.clamp(1e-6, 1 - 1e-6)) + torch.special.entr(
        1 - masks.clamp(1e-6, 1 - 1e-6)
    )
    assert good['class'] < 1e-3 and good['box'] < 1e-6 and good['mask'] < 6.125 * floor.max()
    faults = {'class': {'scores': -scores}, 'box': {'boxes': targets.boxes + 1},
              'mask': {'coefficients': -coefficients},
              'semantic': {'semantic': -semantic}}  # fmt: skip
    for name, change in faults.items():
        bad = losses(Output(**(vars(right) | change)), targets)
        assert bad[name] > 2 * good[name] + 0.5, name
        assert all(bad[other] == good[other] for other in faults if other != name), name


def test_picture_without_an_instance_has_a_finite_loss():
    nothing = np.zeros((0, 64, 96), np.uint8), np.zeros(0, int)
    empty = [
        Crop(np.full((64, 96, 3), 100, np.float32), np.full((64, 96), 0.8, np.float32), *nothing)
    ] * 2
    pictures, targets = make_batch(empty, LAYOUT.boxes(), CONFIG)
    found = losses(Yolact(CONFIG)(pictures), targets)
    assert (
        all(torch.isfinite(v) for v in found.values())
        and found['box'] == 0
        and found['mask'] == 0
        and found['class'] > 0
    )


def test_interrupted_run_goes_on_as_if_it_had_not_been(data, tmp_path):
    whole = Trainer(CONFIG, settings(steps=6, batch=2, seed=1))
    whole.run(data, tmp_path / 'whole', lambda *_: None)
    first = Trainer(CONFIG, settings(steps=6, batch=2, seed=1))
    first.run(data, tmp_path / 'parts', lambda *_: None, stop=lambda: first.step >= 3)
    second = Trainer(CONFIG, settings(steps=6, batch=2, seed=1))
    assert second.resume(tmp_path / 'parts') and second.step == 3
    second.run(data, tmp_path / 'parts', lambda *_: None)
    for mine, theirs in zip(
        second.averaged.state_dict().values(), whole.averaged.state_dict().values(), strict=True
    ):
        torch.testing.assert_close(mine, theirs)
    for name, value in (('seed', 2), ('data', 'of another robot')):
        with pytest.raises(VisionError, match=f'another {name}'):
            Trainer(CONFIG, settings(**{'seed': 1, 'batch': 2, name: value})).resume(
                tmp_path / 'parts'
            )


def test_run_knows_what_it_learns_from(tmp_path, capsys):
    """Refuse to resume with other labels, classes or robots: the old network would be exported."""
    for name, count in (('first', 2), ('second', 3)):
        coco.write(tmp_path / name, discs(count), ('ring', 'gripper'), {})

    def learnt_from(name, classes='ring', own=None):
        options = SimpleNamespace(
            classes=classes,
            robot='two_module_arm',
            steps=1,
            seed=0,
            threads=1,
            fine_tune=False,
            float32=True,
            output=tmp_path / 'run',
        )
        return train_ring_segmenter._trainer(options, [tmp_path / name], own or [])[0].settings.data

    assert learnt_from('first') == learnt_from('first')
    assert (
        len(
            {
                learnt_from('first'),
                learnt_from('second'),
                learnt_from('first', 'ring,gripper'),
                learnt_from('first', own=[tmp_path / 'second']),
            }
        )
        == 4
    )
    folders = {
        train_ring_segmenter._synthetic_folder(tmp_path, load_robot(r), 5, 0)
        for r in ('two_module_arm', 'squid_grasper')
    }
    assert len(folders) == 2


def test_classes_without_the_ring_are_refused(tmp_path, capsys):
    train = ['--data', str(tmp_path), '--output', str(tmp_path / 'run'), '--classes', 'marker']
    assert train_ring_segmenter.main(train) == 2
    assert "the detector looks for 'ring'" in capsys.readouterr().err


def test_it_learns_and_the_exported_network_says_the_same(data, tmp_path):
    trainer = Trainer(CONFIG, settings(steps=60, batch=8, warm_up=10, learning_rate=5e-3, seed=3))
    totals = [trainer.advance(data) for _ in range(60)]
    assert np.mean(totals[-10:]) < 0.5 * np.mean(totals[:10])
    network = trainer.averaged
    export(network, tmp_path / 'discs.onnx', {'min_score': 0.3})
    exported = ExportedYolact(tmp_path / 'discs.onnx')
    sample = next(discs(1, seed=9))
    depth_m = depth_in_metres(sample.depth)
    with torch.inference_mode():
        output = network(torch.from_numpy(input_channels(sample.rgb, depth_m)[None]))
    wanted = output.boxes, output.scores, output.coefficients, output.prototypes
    for mine, theirs in zip(exported.raw(sample.rgb, depth_m), wanted, strict=True):
        np.testing.assert_allclose(mine, theirs[0].numpy(), atol=1e-3)


def test_pictures_without_depth_make_a_network_of_colours(tmp_path):
    data = TrainingSet((replace(sample, depth=None) for sample in discs(4)), LAYOUT)
    assert not data.has_depth
    network = replace(CONFIG, depth=False)
    trainer = Trainer(network, settings(steps=2, batch=2))
    assert np.isfinite(trainer.advance(data))
    export(trainer.averaged, tmp_path / 'colours.onnx', {'min_score': 0.0})
    exported, rgb = ExportedYolact(tmp_path / 'colours.onnx'), next(discs(1)).rgb
    scores = [exported.raw(rgb, np.full((64, 96), z, np.float32))[1] for z in (0.5, 0.9)]
    np.testing.assert_array_equal(*scores)


def test_weights_come_back_and_others_are_refused(tmp_path):
    network, path = Yolact(CONFIG).eval(), tmp_path / 'w.pt'
    checksum = save_weights(network, path)
    again = load_weights(path, checksum)
    assert again.config == CONFIG and not again.training
    for mine, theirs in zip(
        again.state_dict().values(), network.state_dict().values(), strict=True
    ):
        torch.testing.assert_close(mine, theirs)
    with pytest.raises(VisionError, match='checksum'):
        load_weights(path, '0' * 64)
    torch.save({'config': print}, path)  # code is not accepted
    with pytest.raises(VisionError, match='holds no YOLACT weights'):
        load_weights(path)
    with pytest.raises(VisionError, match='there are no weights'):
        load_weights(tmp_path / 'none.pt')


def test_half_of_the_crops_are_of_own_images(data):
    """One image of one's own among many others would otherwise teach nothing."""
    (own,) = discs(1, seed=4)
    own = replace(own, classes=np.array([1]))
    red = [sample for sample in discs(40) if sample.classes[0] == 1]
    data = TrainingSet((replace(s, classes=np.array([0])) for s in red), LAYOUT, own=[own])
    rng = np.random.default_rng(8)
    classes = np.concatenate([data.draw(rng, (64, 64)).classes for _ in range(150)])
    assert 0.4 < np.mean(classes) < 0.65


def test_a_labelled_bag_is_learnt_from(tmp_path, capsys):
    """Beside drawn frames; of its rings and of what looks like one, but of no frame left out."""
    bag, out = Path(shutil.copytree(BAG, tmp_path / 'bag')), tmp_path / 'run'
    train = ['--output', str(out), '--frames', '4', '--steps', '1', '--float32', '--bag']
    assert train_ring_segmenter.main([*train, str(bag)]) == 2
    assert 'run softarm vision label' in capsys.readouterr().err
    assert vision_label.main([str(bag), '--tip-source', 'colour', '--every', '1']) == 0
    first, second, *rest = sorted((bag / 'labels' / 'ring').iterdir())
    first.unlink()
    (bag / 'labels' / 'no_ring').mkdir(exist_ok=True)
    second.rename(bag / 'labels' / 'no_ring' / second.name)
    assert train_ring_segmenter.main([*train, str(bag)]) == 0
    assert f'{4 + 1 + len(rest)} images, colour and depth' in capsys.readouterr().err
    assert [len(s.masks) for s in coco.read(out / 'bag_bag', ('ring',))] == [0] + [1] * len(rest)
    assert '--bag' in ExportedYolact(out / 'ring_segmenter.onnx').metadata['command']


def test_set_without_labels_is_refused():
    blank = Sample(np.zeros((64, 96, 3), np.uint8), np.zeros((0, 64, 96), bool), np.zeros(0, int))
    with pytest.raises(VisionError, match='nothing to learn'):
        TrainingSet([blank], LAYOUT)
