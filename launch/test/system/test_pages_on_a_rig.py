"""The blocks of the pages that need a running rig, beside one virtual rig, then beside one cell."""

import pytest

from system_testing.launched_graph import LAUNCH, LaunchedGraph, free_port
from system_testing.pages import PAGES, ROOT, blocks, run

GRAPHS = {  # mark of a block: launch file, arguments, ports of its own
    'rig': ('sim.launch.xml', ['use_sim_time:=true'], ['modbus_port']),
    'cell': ('cell.launch.xml', [], ['modbus_port', 'rws_port']),
}
CASES = [
    (mark, page) for mark in GRAPHS for page in PAGES if mark in {b.mark for b in blocks(page)}
]


@pytest.fixture(scope='module')
def graph(request, tmp_path_factory, ros_domain):
    file, arguments, ports = GRAPHS[request.param]
    command = [str(LAUNCH / file), *arguments, *(f'{port}:={free_port()}' for port in ports)]
    graph = LaunchedGraph(tmp_path_factory.mktemp(request.param) / 'launch.txt', command, {})
    try:
        graph.wait(lambda: 'ready: ' in graph.output() or graph.deaths(), 'it is ready')
        yield graph
    finally:
        graph.close()


@pytest.mark.parametrize(
    ('graph', 'page'),
    CASES,
    indirect=['graph'],
    scope='module',  # one graph for all pages that need it
    ids=[f'{mark}-{page.relative_to(ROOT)}' for mark, page in CASES],
)
def test_blocks_run(graph, page, request, tmp_path):
    mark = request.node.callspec.params['graph']
    assert run(page, {mark}, tmp_path) > 0
    assert not graph.deaths(), graph.output()
