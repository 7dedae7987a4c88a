"""Refusals as a controller words them: status, code and message of recorded answers."""


class Refused(Exception):  # noqa: N818  it is an answer, not a fault of ours
    """An answer with status >= 400."""

    def __init__(self, status: int, code: int, message: str):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def _source(path: str, line: int, text: str, code: int, inner: int = -1) -> str:
    folder = 'C:\\BUILD\\RW\\Areas\\RobApi2\\Components'
    return f'{folder}\\{path}[{line}] {text} code:{code} icode:{inner}'


def held(path: str = 'rws_mastership\\rws_resource_mastership.cpp') -> Refused:
    """Mastership is with someone else."""
    return Refused(
        403,
        -1073445862,
        _source(path, 547, 'Requested resource is held by someone else', -1073445862),
    )


def not_held() -> Refused:
    """Release of what the caller does not hold."""
    return Refused(
        403,
        -1073445880,
        _source(
            'rws_mastership\\rws_resource_mastership.cpp',
            601,
            'The resource is not held by caller',
            -1073445880,
        ),
    )


def mastership_missing() -> Refused:
    """The write needs a mastership."""
    text = 'The user does not have required mastership for the operation.'
    return Refused(
        403, -1073445859, _source('rws_panel\\rws_resource_panel.cpp', 1688, text, -1073445859)
    )


def wrong_mode() -> Refused:
    """Not in this operation mode."""
    return Refused(
        403,
        -1073445860,
        _source(
            'rws_panel\\rws_resource_panel.cpp',
            1402,
            'Operation not allowed in current operation mode',
            -1073445860,
        ),
    )


def wrong_state() -> Refused:
    """Not in this execution state."""
    text = 'ERROR: Operation is illegal in current execution state'
    return Refused(
        400,
        -1073442809,
        _source('rws_rapid\\rws_resource_rapid_execution.cpp', 1128, text, -1073442809),
    )


def no_pointer() -> Refused:
    """No program pointer."""
    return Refused(
        400,
        -1073442783,
        _source(
            'rws_rapid\\rws_resource_rapid_execution.cpp',
            1130,
            'No program pointer set',
            -1073442783,
        ),
    )


def access_denied() -> Refused:
    """Signal access level, or a safety state."""
    return Refused(
        403,
        -1073445881,
        _source('rws_iosystem\\rws_resource_iosystem.cpp', 3554, 'Rejected', -1073445881, -2),
    )


def invalid(text: str = 'Invalid action parameter value') -> Refused:
    """A value that is not accepted."""
    return Refused(
        400, -1073445879, _source('rws_services\\rws_services.cpp', 210, text, -1073445879)
    )


def limit_reached(text: str) -> Refused:
    """A limit of the controller."""
    return Refused(
        400, -1073445871, _source('rws_subscription\\rws_subscription.cpp', 320, text, -1073445871)
    )


def no_resource() -> Refused:
    """Unknown address."""
    return Refused(
        404,
        -1073414146,
        _source('rws_services\\rws_services.cpp', 129, 'Resource not found', -1073414146),
    )


def no_symbol_read(generation: int = 1) -> Refused:
    """Unknown RAPID symbol, read; a 400 on IRC5."""
    if generation == 2:
        return no_symbol_written()
    return Refused(
        400,
        -1073414146,
        _source(
            'rws_rapid\\rws_resource_rapid_symbol_data.cpp', 286, 'Symbol not found', -1073414146
        ),
    )


def no_symbol_written() -> Refused:
    """Unknown RAPID symbol, written."""
    return Refused(
        404,
        -1073442816,
        _source(
            'rws_rapid\\rws_resource_rapid_symbol_data.cpp',
            254,
            'org_code: -517 Symbol not found',
            -1073442816,
        ),
    )


def no_module(generation: int = 1) -> Refused:
    """Unknown module, read."""
    status, code = (404, -1073414146) if generation == 1 else (400, -1073442813)
    return Refused(
        status,
        code,
        _source('rws_rapid\\rws_resource_rapid_module.cpp', 1233, 'Unknown module name', code),
    )


def no_module_to_unload(generation: int = 1) -> Refused:
    """Unknown module, where it should be unloaded."""
    code = -1073442816 if generation == 1 else -1073442813
    return Refused(
        400,
        code,
        _source('rws_rapid\\rws_resource_rapid_task.cpp', 1777, 'Unknown module name', code),
    )


def no_grant() -> Refused:
    """The user may not do this."""
    text = 'The user is not allowed access to the resource'
    return Refused(
        403, -1073445867, f'C:\\BUILD\\RW\\rapi_uas_resource.cpp[2995] {text} -1073445867 -757'
    )


def syntax_error() -> Refused:
    """A module that cannot be loaded."""
    text = 'Operation not allowed due to syntax errors'
    return Refused(
        400, -1073442803, _source('rws_rapid\\rws_resource_rapid_task.cpp', 1602, text, -1073442803)
    )


def ui_instruction_not_active() -> Refused:
    """No program waits for an answer."""
    return Refused(
        400,
        -1073442784,
        _source(
            'rws_rapid\\rws_resource_rapid_ui.cpp', 240, 'No active UI instruction', -1073442784
        ),
    )


def not_persistent() -> Refused:
    """A constant cannot be written."""
    text = 'Not a persistent rapid symbol'
    return Refused(
        400,
        -1073442786,
        _source('rws_rapid\\rws_resource_rapid_symbol_data.cpp', 300, text, -1073442786),
    )


def no_instance() -> Refused:
    """Unknown instance of the configuration."""
    return Refused(
        400,
        -1073445879,
        _source(
            'rws_cfg\\rws_resource_cfg.cpp', 2107, 'Unknown instance', -1073445879, -1073437691
        ),
    )


def name_taken() -> Refused:
    """A name that exists already."""
    return Refused(
        400,
        -1073445839,
        _source('rws_services\\rws_services.cpp', 220, 'Name already exist', -1073445839),
    )


def no_queue() -> Refused:
    """Unknown message queue."""
    return Refused(
        404,
        -1073435904,
        _source('rws_dipc\\rws_resource_dipc.cpp', 180, 'Invalid slot id', -1073435904),
    )


def queue_full() -> Refused:
    """A message queue that takes no more."""
    return Refused(
        400,
        -1073435903,
        _source('rws_dipc\\rws_resource_dipc.cpp', 195, 'Message queue full', -1073435903),
    )


def out_of_reach() -> Refused:
    """A pose without joint angles."""
    return Refused(
        400,
        -1073436654,
        _source(
            'rws_motion\\rws_resource_mechunit.cpp', 1211, 'Position outside of reach', -1073436654
        ),
    )


def option_missing() -> Refused:
    """Something this controller was not bought with."""
    return Refused(
        403,
        -1073435901,
        _source('rws_services\\rws_services.cpp', 160, 'Option is missing', -1073435901),
    )


def gone() -> Refused:
    """A service that RobotWare 8 has no more."""
    text = 'The service is not supported in this version of controller'
    return Refused(
        410, -1073445885, _source('rws_services\\rws_services.cpp', 140, text, -1073445885)
    )


def no_write_access() -> Refused:
    """RobotWare 8: the write access is not with this client."""
    text = 'The control station does not hold write access'
    return Refused(
        403,
        -1073435873,
        _source('rws_controlstation\\rws_controlstation.cpp', 310, text, -1073435873),
    )


def no_signal() -> Refused:
    """Unknown I/O signal."""
    text = 'ERROR: eio_signal_open_by_name failed status -60.'
    return Refused(
        404,
        -1073445866,
        _source('rws_iosystem\\rws_resource_iosystem.cpp', 1986, text, -1073445866),
    )


def no_file(generation: int = 1) -> Refused:
    """Unknown file or folder."""
    code, text = (
        (-1073414146, 'Resource does not exist')
        if generation == 1
        else (-1073438713, 'Path does not exist')
    )
    return Refused(404, code, f'C:\\BUILD\\RW\\rapi_file_service.cpp[221] {text} {code} -1')


def no_volume() -> Refused:
    """A path that begins with no environment variable."""
    return Refused(
        400,
        -1073438716,
        'C:\\BUILD\\RW\\rapi_file_service.cpp[237] Virtual root does not exist -1073438716 -704',
    )


def no_module_file() -> Refused:
    """The file of a module that should be loaded is not there."""
    return Refused(
        400, -1073438708, _source('rws_rapid\\rws_resource_rapid_task.cpp', 1602, '', -1073438708)
    )
