"""Node of a test: it publishes to the nodes under test, and receives what they publish."""

import collections
import contextlib
import functools
import threading
import time

import rclpy
from rclpy.action import ActionClient
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

DEADLINE_S = 300.0


class Probe(Node):
    """It spins while the test waits or, after `spin`, in a thread.

    `nodes` are the types of the nodes under test, made in the default context with these
    parameters and run by the same executor. Without them the probe has a separate context.
    """

    def __init__(self, name='probe', namespace='', nodes=(), arguments=(), **parameters):
        words = ['--ros-args', '-r', f'__ns:=/{namespace.strip("/")}', *arguments]
        words += [word for key, value in parameters.items() for word in ('-p', f'{key}:={value}')]
        self._own_context = context = None if nodes else Context()
        rclpy.init(args=words, context=context, signal_handler_options=SignalHandlerOptions.NO)
        super().__init__(name, namespace=namespace, context=context, use_global_arguments=False)
        self._changed, self._stopping, self._thread = threading.Condition(), False, None
        self._service_client = functools.cache(self.create_client)
        self._action_clients = {}
        self.nodes, self.heard = [], {}
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self)
        with contextlib.ExitStack() as on_error:
            on_error.callback(self.close)
            for make in nodes:
                self.nodes.append(make())
                self._executor.add_node(self.nodes[-1])
            on_error.pop_all()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """End the thread, the nodes and the context."""
        self._stopping = True
        if self._thread:
            self._thread.join()
        self._executor.shutdown()
        for client in self._action_clients.values():
            client.destroy()  # else they keep the node in the graph
        for node in (*self.nodes, self):
            node.destroy_node()
        rclpy.try_shutdown(context=self._own_context)

    def spin(self):
        """Spin in a thread from now on; return the probe."""
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()
        return self

    def _spin(self):
        while not self._stopping:
            self._executor.spin_once(timeout_sec=0.1)
            with self._changed:
                self._changed.notify_all()

    def listen(self, kind, topic, profile=10, newest=None):
        """Return the messages of a topic from now on, all or so many of the newest; see `heard`."""
        messages = self.heard[topic] = collections.deque(maxlen=newest) if newest else []
        self.create_subscription(kind, topic, lambda message: messages.append(message), profile)
        return messages

    def wait(self, condition, what='the condition', each=None):
        """Wait until `condition()` is true; meanwhile call `each` at 20 Hz, where it is given."""
        timer, end_s = each and self.create_timer(0.05, each), time.monotonic() + DEADLINE_S
        while not condition():
            heard = [topic for topic, messages in self.heard.items() if messages]
            assert time.monotonic() < end_s, (
                f'{what}: not within {DEADLINE_S:g} s; heard {heard}\n{self.said()}'
            )
            if self._thread:
                with self._changed:
                    self._changed.wait(0.1)
            else:
                self._executor.spin_once(timeout_sec=0.1)
        if timer:
            self.destroy_timer(timer)

    def said(self):
        """Return the output of processes under test, for the message of a failed wait."""
        return ''

    def result(self, future, what='the answer'):
        """Wait for a future; return its result."""
        self.wait(future.done, what)
        return future.result()

    def called(self, request):
        """Return the future of `request()`, an action's request made in the executor's thread.

        Made in another thread, its response may arrive before rclpy knows the future, and is lost.
        """
        return self.result(self._executor.create_task(request), 'the request is sent')

    def call(self, kind, name, request=None, **fields):
        """Call a service; return its response."""
        client = self._service_client(kind, name)
        self.wait(client.service_is_ready, f'{name} is offered')
        return self.result(client.call_async(request or kind.Request(**fields)), f'{name} answers')

    def send_goal(self, kind, name, goal):
        """Send a goal; return its handle and its feedback so far."""
        if name not in self._action_clients:
            self._action_clients[name] = ActionClient(self, kind, name)
        client, feedback = self._action_clients[name], []
        self.wait(client.server_is_ready, f'{name} is offered')
        sent = self.called(
            lambda: client.send_goal_async(goal, lambda message: feedback.append(message.feedback))
        )
        return self.result(sent, f'{name} answers the goal'), feedback
