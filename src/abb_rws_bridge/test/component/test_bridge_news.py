"""What the link reports while the node publishes what it reported before."""

from threading import Lock, Thread
from types import SimpleNamespace

from abb_rws_bridge.ros.bridge_node import AbbRwsBridgeNode


class InterruptedSet(set):
    """The node looks for news after the link has taken this set, and before it adds to it."""

    def __init__(self, node):
        super().__init__()
        self.reader = Thread(target=AbbRwsBridgeNode._on_news, args=(node,))

    def add(self, name):
        self.reader.start()
        self.reader.join(0.5)  # it waits for a lock, or has ended
        super().add(name)


def test_a_value_that_comes_while_the_node_publishes_is_published():
    published = []
    node = SimpleNamespace(
        _phase='active',
        _news_lock=Lock(),
        _wake=SimpleNamespace(trigger=lambda: None),
        _link=SimpleNamespace(known=None),
        _output=SimpleNamespace(publish=lambda _, names: published.append(set(names))),
    )
    node._news = interrupted = InterruptedSet(node)
    AbbRwsBridgeNode._on_change(node, 'joints')
    interrupted.reader.join()
    AbbRwsBridgeNode._on_news(node)
    assert {'joints'} in published
