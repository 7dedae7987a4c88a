"""Message queues between programs (DIPC) of RWS 1.0."""

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.message_queue import MessageQueue
from abb_rws_emulator.http.rendering import NO_CONTENT, Reply
from abb_rws_emulator.http.routing import Call, one, route
from abb_rws_emulator.request_numbers import whole

MAX_QUEUE, MAX_MESSAGE_SIZE, MAX_QUEUES, MAX_FIELD_LENGTH = 32767, 444, 64, 80
_FIELDS = ('dipc-userdef', 'dipc-msgtype', 'dipc-cmd', 'dipc-src-queue-name')


@route('POST', '/rw/dipc')
def _create(call: Call) -> Reply:
    queues, form = call.controller.queues, call.form
    name = form.get('dipc-queue-name', '')
    if call.action != 'dipc-create' or not name or name in queues or len(name) > MAX_FIELD_LENGTH:
        raise refusals.invalid()
    if len(queues) == MAX_QUEUES:
        raise refusals.limit_reached('Max number of queues reached')
    size = _in_range(form.get('dipc-queue-size'), MAX_QUEUE)
    message_size = _in_range(form.get('dipc-max-msg-size'), MAX_MESSAGE_SIZE)
    queues[name] = MessageQueue(name, len(queues) + 1, size, message_size)
    return Reply(status=201)


def _in_range(text: str | None, largest: int) -> int:
    number = whole(text)
    if number is None or not 1 <= number <= largest:
        raise refusals.invalid()
    return number


@route('GET', '/rw/dipc/{queue}')
def _read(call: Call) -> Reply:
    queue = _queue(call)
    if call.action != 'dipc-read':
        raise refusals.invalid()
    if not queue.messages:
        return Reply((), queue.name)
    return one('dipc-read-li', queue.name, queue.messages.popleft())


@route('POST', '/rw/dipc/{queue}')
def _send(call: Call) -> Reply:
    queue, form = _queue(call), call.form
    if (
        call.action != 'dipc-send'
        or not set(form) >= {'dipc-data', *_FIELDS}
        or len(form['dipc-data']) > queue.message_size
        or any(len(form[name]) > MAX_FIELD_LENGTH for name in _FIELDS)
    ):
        raise refusals.invalid()
    if len(queue.messages) >= queue.size:
        raise refusals.queue_full()
    message = {name: form[name] for name in ('dipc-data', *_FIELDS)}
    queue.messages.append(message | {'queue-name': queue.name, 'queue-slot-id': str(queue.slot)})
    call.controller.on_change(f'/rw/dipc/{queue.name}')
    return NO_CONTENT


def _queue(call: Call) -> MessageQueue:
    if call.parts['queue'] not in call.controller.queues:
        raise refusals.no_queue()
    return call.controller.queues[call.parts['queue']]
