"""The page in a real Chromium: controls, keys, handle, pictures, files, names. About 25 s."""

import json

import cv2
import numpy as np
import pytest

MAX_FIRST_LOAD_BYTES = 3_000_000


def test_the_first_load_is_small_and_offline(page):
    assert 100_000 < page.bytes < MAX_FIRST_LOAD_BYTES
    assert page.page.title() == 'Waving tube · soft_arm'
    assert 'Take control' in page.page.locator('#hint').inner_text()


def test_a_slider_moves_by_keys_and_what_it_sends_counts(page):
    bend = page.control('slider', 'Bend [rad]')
    page.control('spinbutton', 'Bend [rad]').fill('0.5')
    page.page.keyboard.press('Enter')
    page.wait_for_command('bend', 0.5)
    bend.focus()
    for _ in range(3):
        page.page.keyboard.press('ArrowRight')
    page.wait_for_command('bend', 0.65)
    page.page.keyboard.press('Home')
    page.wait_for_command('bend', -2)
    page.page.get_by_text('bend: -2.0 asked and accepted').wait_for()
    page.until("document.querySelector('[aria-label=\"Bend [rad]\"]').value === '-2'")


def test_a_number_is_sent_when_it_is_finished_and_never_if_it_is_outside(page):
    box = page.control('spinbutton', 'Bend [rad]')
    before, shown = page.commands(), box.input_value()
    box.fill('')
    box.press_sequentially('500')
    assert page.commands() == before
    page.page.keyboard.press('Enter')
    page.page.get_by_text('500 is outside of -2.00 to 2.00 rad. Nothing was sent.').wait_for()
    assert page.commands() == before
    assert box.input_value() == shown
    box.fill('1.5')
    page.page.keyboard.press('Escape')
    assert box.input_value() == shown
    box.fill('1.25')
    page.page.keyboard.press('Tab')
    page.wait_for_command('bend', 1.25)
    assert page.commands() == [*before, ('bend', 1.25)]


def test_an_answer_to_an_earlier_command_does_not_clear_a_refusal(start_server, visit):
    server = start_server()
    page = visit(server)
    box = page.control('spinbutton', 'Bend [rad]')
    server.stop()
    for text in '1.5', '500':
        box.fill(text)
        page.page.keyboard.press('Enter')
    page.wait_for_command('bend', 1.5)
    page.control('switch', 'Wave').press('Space')
    server.go_on()
    page.page.get_by_text('wave: False asked and accepted').wait_for()  # after the answer to 1.5
    assert page.page.get_by_text('500 is outside of -2.00 to 2.00 rad').is_visible()


def test_dragging_sends_at_most_twenty_times_a_second_and_the_last_place(page):
    before = page.page.evaluate('window.sent.length')
    slider = page.control('slider', 'Bend [rad]')
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    middle = box['y'] + box['height'] / 2
    page.page.mouse.move(box['x'] + box['width'] / 2, middle)
    page.page.mouse.down()
    for share in np.linspace(0.5, 1.0, 25):
        page.page.mouse.move(box['x'] + share * box['width'], middle)
    page.page.mouse.up()
    page.wait_for_command('bend', 2)
    sent = page.page.evaluate('window.sent')[before:]
    bends = [s for s in sent if s.get('control') == 'bend']
    assert len(bends) > 1
    assert np.diff([s['at_ms'] for s in bends]).min() > 45
    assert bends[-1]['value'] == 2


def test_other_controls_by_their_names(page):
    page.control('combobox', 'Plane').select_option('both')
    page.wait_for_command('plane', 'both')
    wave = page.control('switch', 'Wave')
    was = wave.is_checked()
    wave.press('Space')
    page.wait_for_command('wave', not was)
    name = page.control('textbox', 'Name of the run')
    name.press_sequentially('run 7')
    name.press('Enter')
    page.wait_for_command('name', 'run 7')
    assert [value for control, value in page.commands() if control == 'name'] == ['run 7']
    grasp = page.control('button', 'Grasp')
    assert grasp.is_disabled()
    assert page.control('slider', 'Bellows 1 [kPa]').is_disabled()  # no control taken
    assert not page.control('button', 'Vent').is_disabled()
    page.take_control()
    assert not page.control('slider', 'Bellows 1 [kPa]').is_disabled()
    page.page.get_by_text('no gripper in this graph').wait_for()


def test_the_handle_follows_mouse_and_keys(page):
    if page.control('button', 'Take control').is_visible():
        page.take_control()
    handle = page.page.locator('.handle')
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    x, y = box['x'] + 22, box['y'] + 22
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x - 15, y + 10, steps=5)
    page.page.get_by_text('target: (').first.wait_for()  # a control has appeared since
    page.page.mouse.move(x - 30, y + 20, steps=5)
    page.page.mouse.up()
    page.control('button', 'Target back').wait_for()
    after = handle.bounding_box()
    assert (after['x'] + 22, after['y'] + 22) == pytest.approx((x - 30, y + 20), abs=1.5)
    boxes = [page.control('spinbutton', f'Target {axis} [mm]') for axis in 'xyz']
    start = [float(box.input_value()) for box in boxes]
    assert start[0] < 100
    handle.focus()
    page.page.keyboard.press('PageUp')
    page.page.keyboard.press('Shift+PageUp')
    page.page.keyboard.press('ArrowRight')
    moved = [float(box.input_value()) for box in boxes]
    assert moved[2] - start[2] == pytest.approx(6, abs=1.1)
    assert abs(moved[0] - start[0]) + abs(moved[1] - start[1]) == pytest.approx(5, abs=1.1)
    boxes[0].fill('900')
    page.page.keyboard.press('Enter')
    page.page.get_by_text('900 is outside of -300 to 300 mm').wait_for()
    x_m = "window.sent.findLast((s) => s.control === 'target').value[0]"
    page.until(f'Math.abs(1000 * {x_m} - {moved[0]}) < 1')


def _picture(page):
    """Return the saved picture, downsampled so that fine lines and edges vanish."""
    with page.page.expect_download() as saved:
        page.control('button', 'Picture').click()
    picture = cv2.imread(str(saved.value.path()))
    return cv2.resize(picture, (64, 32), interpolation=cv2.INTER_AREA).astype(float)


def _set_bend(page, value):
    page.control('spinbutton', 'Bend [rad]').fill(str(value))
    page.page.keyboard.press('Enter')
    page.page.get_by_text(f'bend: {value} asked and accepted').first.wait_for()
    page.page.wait_for_timeout(500)  # a picture of it


def test_the_picture_is_the_known_one(start_server, visit, request):
    page = visit(start_server())
    page.control('switch', 'Wave').click()
    _set_bend(page, 1.0)
    known_file = request.path.parent / 'waving_tube.png'
    small = _picture(page)
    if not known_file.exists():
        cv2.imwrite(str(known_file), small)
        pytest.fail(f'{known_file} was made: look at it, and run the test again')
    known = cv2.imread(str(known_file)).astype(float)
    same, middle = np.abs(small - known), np.s_[6:28, 20:48]
    assert same[middle].mean() < 4
    _set_bend(page, -1.0)
    assert np.abs(_picture(page) - known)[middle].mean() > 8


def test_files_to_take_away(page):
    with page.page.expect_download() as saved:
        page.control('button', 'Pose').click()
    pose = json.loads(saved.value.path().read_text())
    assert np.shape(pose['world_from_frame']) == (64, 3, 4)
    assert pose['settings']['target'] == pytest.approx([0.1, 0.0, 0.25], abs=0.2)
    with page.page.expect_download() as saved:
        page.control('button', 'Save the pose').click()
    assert saved.value.suggested_filename == 'pose.yaml'
    page.control('button', 'Video').click()
    page.page.wait_for_timeout(1000)
    with page.page.expect_download() as saved:
        page.control('button', 'End video').click()
    assert saved.value.path().read_bytes().startswith(b'\x1aE\xdf\xa3')  # Matroska


INPUTS = {'button', 'slider', 'spinbutton', 'switch', 'checkbox', 'combobox', 'textbox'}


@pytest.mark.parametrize(('width', 'height', 'scheme'), [(1280, 720, 'light'), (768, 1024, 'dark')])
def test_everything_has_a_name_and_the_tab_key_reaches_it(
    start_server, visit, width, height, scheme
):
    page = visit(start_server(), width, height, color_scheme=scheme)
    page.take_control()
    tree = page.context.new_cdp_session(page.page).send('Accessibility.getFullAXTree')['nodes']
    inputs = [n for n in tree if n.get('role', {}).get('value') in INPUTS and not n.get('ignored')]
    assert len(inputs) > 20
    assert [n for n in inputs if not n['name']['value'].strip()] == []
    reachable = page.page.evaluate("""() => {
      window.left = new Set([...document.querySelectorAll('button, input, select, summary')]
        .filter((e) => !e.disabled && e.checkVisibility({ visibilityProperty: true })));
      return window.left.size;
    }""")
    page.page.locator('body').focus()
    for _ in range(reachable + 12):
        page.page.keyboard.press('Tab')
        page.page.evaluate('window.left.delete(document.activeElement)')
    assert page.page.evaluate('[...window.left].map((e) => e.outerHTML)') == []
    assert page.page.evaluate('document.documentElement.scrollWidth') <= width
    assert page.control('button', 'Vent').bounding_box()['y'] < 60
