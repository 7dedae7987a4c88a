"""Access to the configuration database, in RWS 1.0 form."""

import re
from urllib.parse import quote

from abb_rws_emulator import refusals
from abb_rws_emulator.controller.configuration import Instance
from abb_rws_emulator.controller.file_store import normal_path
from abb_rws_emulator.http.rendering import NOTHING, Item, Reply
from abb_rws_emulator.http.routing import Call, one, route

_LOADS = ('add', 'replace', 'add-with-reset')
MOST_INSTANCES = 1000


@route('GET', '/rw/cfg')
def _domains(call: Call) -> Reply:
    return Reply(
        tuple(
            Item('cfg-domain-li', name, {}, {'self': f'cfg/{name}'})
            for name in call.controller.configuration.types
        ),
        'cfg',
    )


@route('GET', '/rw/cfg/{domain}')
def _types(call: Call) -> Reply:
    database = call.controller.configuration
    domain = database.domain(call.parts['domain'])
    return Reply(
        tuple(
            Item('cfg-dt-li', kind, {}, {'self': f'{domain}/{kind}'})
            for kind in database.types[domain]
        ),
        domain,
    )


@route('GET', '/rw/cfg/{domain}/{kind}')
def _type(call: Call) -> Reply:
    kind = call.parts['kind'].upper()
    call.controller.configuration.instances(call.parts['domain'], kind)
    return one(
        'cfg-dt',
        kind,
        {'rdonly': 'false'},
        attributes=f'{kind}/attributes',
        instances=f'{kind}/instances',
    )


@route('GET', '/rw/cfg/{domain}/{kind}/attributes')
def _attributes(call: Call) -> Reply:
    instances = call.controller.configuration.instances(call.parts['domain'], call.parts['kind'])
    names = dict.fromkeys(name for instance in instances.values() for name in instance)
    fields = {'data-type': 'string', 'mandatory': 'false', 'default': ''}
    return Reply(
        tuple(Item('cfg-dt-attribute', name, {'name': name} | fields) for name in names),
        'attributes',
    )


@route('GET', '/rw/cfg/{domain}/{kind}/instances')
def _instances(call: Call) -> Reply:
    instances = call.controller.configuration.instances(call.parts['domain'], call.parts['kind'])
    return Reply(
        tuple(_item(call, name, instance) for name, instance in instances.items()), 'instances'
    )


def _item(call: Call, name: str, instance: Instance) -> Item:
    attributes = tuple(
        Item('cfg-ia-t-li' if call.generation == 1 else 'cfg-ia-t', key, {'value': value})
        for key, value in instance.items()
    )
    return Item(
        'cfg-dt-instance-li',
        name,
        {'rdonly': str(_protected(instance)).lower(), 'instanceid': name, 'attrib': attributes},
        {'self': f'instances/{name}'},
    )


def _protected(instance: Instance) -> bool:
    return instance.get('Category') == 'safety'


def _instance(call: Call) -> Instance:
    instances = call.controller.configuration.instances(call.parts['domain'], call.parts['kind'])
    if call.parts['instance'] not in instances:
        raise refusals.no_instance()
    return instances[call.parts['instance']]


@route('GET', '/rw/cfg/{domain}/{kind}/instances/{instance}')
def _read(call: Call) -> Reply:
    return Reply((_item(call, call.parts['instance'], _instance(call)),), call.parts['instance'])


@route('POST', '/rw/cfg/{domain}/{kind}/instances')
def _create(call: Call) -> Reply:
    instances = call.controller.configuration.instances(call.parts['domain'], call.parts['kind'])
    name = call.form.get('name', '')
    if call.action != 'create-default' or not name:
        raise refusals.invalid()
    call.controller.access.require_configuration(call.session)
    if name in instances:
        raise refusals.name_taken()
    if len(instances) >= MOST_INSTANCES:
        raise refusals.limit_reached('Max number of instances reached')
    known = next(iter(instances.values()), {})
    instances[name] = dict.fromkeys(known, '') | {'name' if 'name' in known else 'Name': name}
    return Reply(status=201, location=f'instances/{quote(name)}')


@route('POST', '/rw/cfg/{domain}/{kind}/instances/{instance}')
def _set(call: Call) -> Reply:
    instance = _instance(call)
    if _protected(instance):
        raise refusals.no_instance()
    if call.action != 'set' or not call.form or not set(call.form) <= set(instance):
        raise refusals.invalid('Error set attribute')
    call.controller.access.require_configuration(call.session)
    for name, value in call.form.items():  # RWS 2.0 writes a value and its place as [value,1]
        boxed = re.fullmatch(r'\[(.*),\d+\]', value)
        instance[name] = boxed.group(1) if boxed and call.generation == 2 else value
    return NOTHING


@route('DELETE', '/rw/cfg/{domain}/{kind}/instances/{instance}')
def _delete(call: Call) -> Reply:
    if _protected(_instance(call)):
        raise refusals.no_instance()
    call.controller.access.require_configuration(call.session)
    del call.controller.configuration.instances(call.parts['domain'], call.parts['kind'])[
        call.parts['instance']
    ]
    return NOTHING


@route('POST', '/rw/cfg')
def _act(call: Call) -> Reply:
    database, form = call.controller.configuration, call.form
    if call.action in ('load', 'validate') and form.get('action-type') in _LOADS:
        text = call.controller.store.read(normal_path(form.get('filepath', '')))[:80].decode(
            'utf-8', errors='replace'
        )
        if text.partition(':')[0].upper() not in database.types:
            raise refusals.invalid('Cfg file contains errors')
        return NOTHING  # it takes effect with the next restart, of a database that is not emulated
    if call.action == 'validate-inst-at-del' and form.get('name'):
        if not any(
            form['name'] in instances
            for types in database.types.values()
            for instances in types.values()
        ):
            raise refusals.no_instance()
        return NOTHING
    if call.action == 'validate-instances' and {'cfgdomain', 'cfgtype', 'instances'} <= set(form):
        if form['instances'] not in database.instances(form['cfgdomain'], form['cfgtype']):
            raise refusals.no_instance()
        return NOTHING
    raise refusals.invalid()


@route('POST', '/rw/cfg/{domain}')
def _save(call: Call) -> Reply:
    if call.action != 'saveas':
        raise refusals.invalid()
    text = call.controller.configuration.text(call.parts['domain'])
    call.controller.store.write(normal_path(call.form.get('filepath', '')), text.encode())
    return NOTHING
