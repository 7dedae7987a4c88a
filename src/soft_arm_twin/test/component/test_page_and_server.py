"""The page in a real Chromium when other pages, the data or the server change. About 20 s."""

import time

PATIENCE_S = 60
GONE = 'ERR_CONNECTION_REFUSED'  # what the browser itself reports of a dead server


def _banner(page):
    return page.page.locator('#no-server')


def _is_visible(page):
    """Also while the page gets no data: asks for the style, waits for nothing."""
    return page.page.evaluate(
        "getComputedStyle(document.getElementById('no-server')).visibility === 'visible'"
    )


def _struck(page):
    return page.page.evaluate(
        "getComputedStyle(document.querySelector('.value')).textDecorationLine === 'line-through'"
    )


def test_one_page_has_control_and_all_see_it(server, visit):
    one, other = visit(server, width=640, height=480), visit(server, width=640, height=480)
    one.take_control()
    other.page.locator('.callout').get_by_text('has control: you are watching').wait_for()
    assert other.control('button', 'Take control').is_disabled()
    assert other.control('slider', 'Bellows 1 [kPa]').is_disabled()
    other.page.locator('.handle').press('ArrowRight')
    assert other.commands() == []
    other.control('button', 'Vent').click()  # always, from every page
    one.page.get_by_text('vent: None asked and accepted').first.wait_for()
    one.page.close()
    other.take_control()
    other.control('button', 'Give back').click()
    other.page.get_by_text('Nobody has control').wait_for()


def test_old_data_of_one_source_is_visibly_old(start_server, visit):
    page = visit(start_server(), width=900)
    row = page.page.get_by_role('row', name='Tip error')
    struck = "(row) => getComputedStyle(row.querySelector('.value')).textDecorationLine"
    assert row.evaluate(struck) == 'none'
    old = "import('/main.js').then((m) => m.stage.parts.map((p) => [p.name, p.old.value]))"
    assert ['tip by vision', 0] in page.page.evaluate(old)
    page.control('switch', 'Silence the camera').click()
    page.page.locator('#no-source').get_by_text('camera').wait_for()
    assert row.evaluate(struck) == 'line-through'
    parts = page.page.evaluate(old)
    assert ['tip by vision', 1] in parts
    assert ['tube', 0] in parts
    assert not _is_visible(page)
    page.control('switch', 'Silence the camera').click()
    page.until("!document.getElementById('no-source').innerText.includes('camera')")
    assert row.evaluate(struck) == 'none'


def test_a_silent_server_is_seen_and_so_is_its_return(start_server, visit):
    server = start_server()
    page = visit(server, width=640, height=480, forgives=GONE)
    assert not any(_is_visible(page) for _ in range(10))
    style = page.page.evaluate("getComputedStyle(document.getElementById('no-server')).animation")
    assert '0.8s' in style
    server.stop()
    _banner(page).wait_for(state='visible')
    assert _struck(page)
    server.go_on()
    _banner(page).wait_for(state='hidden')
    assert not _struck(page)
    server.kill()
    _banner(page).wait_for(state='visible')
    page.page.get_by_text('no connection').first.wait_for()
    assert page.control('button', 'Vent').is_disabled()
    start_server(server.port)
    _banner(page).wait_for(state='hidden')
    page.control('button', 'Vent').click()
    page.page.get_by_text('vent: None asked and accepted').first.wait_for()


def test_the_warning_needs_no_script(server, visit):
    """Data arrives, but no script handles it: the style sheet alone makes the warning appear."""
    page = visit(server, width=640, height=480)
    cdp = page.context.new_cdp_session(page.page)
    for domain in ('DOM', 'CSS'):
        cdp.send(f'{domain}.enable')
    root = cdp.send('DOM.getDocument')['root']['nodeId']
    banner = cdp.send('DOM.querySelector', {'nodeId': root, 'selector': '#no-server'})

    def visibility():
        style = cdp.send('CSS.getComputedStyleForNode', banner)['computedStyle']
        return next(entry['value'] for entry in style if entry['name'] == 'visibility')

    assert visibility() == 'hidden'
    cdp.send('Emulation.setScriptExecutionDisabled', {'value': True})
    deadline_s = time.monotonic() + PATIENCE_S
    while visibility() == 'hidden':
        assert time.monotonic() < deadline_s
        page.page.wait_for_timeout(100)
