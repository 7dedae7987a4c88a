"""Message queues between programs (DIPC), in RWS 1.0 form."""

from urllib.parse import quote

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.message_queue import MessageQueue
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route
from abb_rws_emulator.request_numbers import whole

LARGEST_QUEUE = 32767
LARGEST_MESSAGE = 444
MOST_QUEUES = 64
MOST_MESSAGES = 32767
LONGEST_FIELD = 80


def _item(queue: MessageQueue, kind: str) -> Item:
    fields = {
        'queue-name': queue.name,
        'queue-slot-id': str(queue.slot),
        'queue-size': str(queue.size),
        'queue-max-msg-size': str(queue.message_size),
    }
    return Item(kind, queue.name, fields, {'self': f'dipc/{queue.name}'})


def _queue(call: Call) -> MessageQueue:
    if call.parts['queue'] not in call.controller.queues:
        raise refusals.no_queue()
    return call.controller.queues[call.parts['queue']]


@route('GET', '/rw/dipc')
def _queues(call: Call) -> Reply:
    return Reply(
        tuple(_item(queue, 'dipc-queue-li') for queue in call.controller.queues.values()), 'dipc'
    )


@route('POST', '/rw/dipc')
def _create(call: Call) -> Reply:
    name = call.form.get('dipc-queue-name', '')
    if call.action not in ('dipc-create', 'create') or not name:
        raise refusals.invalid()
    if name in call.controller.queues or len(name) > LONGEST_FIELD:
        raise refusals.invalid()
    if len(call.controller.queues) == MOST_QUEUES:
        raise refusals.limit_reached('Max number of queues reached')
    size = _in_range(call.form.get('dipc-queue-size', '50'), LARGEST_QUEUE)
    message_size = _in_range(
        call.form.get('dipc-max-msg-size', str(LARGEST_MESSAGE)), LARGEST_MESSAGE
    )
    slot = len(call.controller.queues) + 1
    call.controller.queues[name] = MessageQueue(name, slot, size, message_size)
    return Reply(status=201, location=f'/rw/dipc/{quote(name)}')


def _in_range(text: str, largest: int) -> int:
    number = whole(text)
    if number is None or not 1 <= number <= largest:
        raise refusals.invalid()
    return number


@route('GET', '/rw/dipc/{queue}')
def _read(call: Call) -> Reply:
    queue = _queue(call)
    if call.query.get('resource') == 'information' or (
        call.generation == 1 and call.action not in ('dipc-read', 'read')
    ):
        return Reply((_item(queue, 'dipc-queue'),), queue.name)
    kind = 'dipc-read-li' if call.generation == 1 else 'dipc-read'
    if not queue.messages:
        return Reply((), queue.name) if call.generation == 1 else NOTHING
    return one(kind, queue.name, queue.messages.popleft())


@route('POST', '/rw/dipc/{queue}')
def _send(call: Call) -> Reply:
    queue, text = _queue(call), call.form.get('dipc-data')
    wanted = {'dipc-src-queue-name', 'dipc-cmd', 'dipc-msgtype'} | (
        {'dipc-userdef'} if call.generation == 2 else set()
    )
    if (
        call.action not in ('dipc-send', 'send')
        or text is None
        or not set(call.form) >= wanted
        or len(text) > queue.message_size
    ):
        raise refusals.invalid()
    others = ('dipc-userdef', 'dipc-msgtype', 'dipc-cmd', 'dipc-src-queue-name')
    if any(len(call.form.get(name, '')) > LONGEST_FIELD for name in others):
        raise refusals.invalid()
    if (
        len(queue.messages) >= queue.size
        or sum(len(q.messages) for q in call.controller.queues.values()) >= MOST_MESSAGES
    ):
        raise refusals.queue_full()
    message = {name: call.form.get(name, '0') for name in ('dipc-data', *others)}
    message |= {'queue-name': queue.name, 'queue-slot-id': str(queue.slot)}
    queue.messages.append(message)
    call.controller.on_change(f'/rw/dipc/{queue.name}')
    return NOTHING


@route('DELETE', '/rw/dipc/{queue}')
def _delete(call: Call) -> Reply:
    del call.controller.queues[_queue(call).name]
    return NOTHING
