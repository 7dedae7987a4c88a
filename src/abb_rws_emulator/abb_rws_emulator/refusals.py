"""Refusals with the status, code and message recorded from real controllers."""


class Refused(Exception):  # noqa: N818  a response, not a defect
    """Response with status >= 400."""

    def __init__(self, status: int, code: int, message: str):
        super().__init__(message)
        self.status, self.code, self.message = status, code, message


def _refused(status: int, code: int, path: str, line: int, text: str, inner: int = -1) -> Refused:
    """Return a refusal whose message contains a RobotWare source file, as on a controller."""
    folder = 'C:\\BUILD\\RW\\Areas\\RobApi2\\Components'
    return Refused(status, code, f'{folder}\\{path}[{line}] {text} code:{code} icode:{inner}')


def held(path: str = 'rws_mastership\\rws_resource_mastership.cpp') -> Refused:
    """Another client holds the mastership."""
    return _refused(403, -1073445862, path, 547, 'Requested resource is held by someone else')


def not_held() -> Refused:
    """The caller does not hold the mastership to release."""
    return _refused(
        403,
        -1073445880,
        'rws_mastership\\rws_resource_mastership.cpp',
        601,
        'The resource is not held by caller',
    )


def mastership_missing() -> Refused:
    """The write requires a mastership that the caller does not hold."""
    text = 'The user does not have required mastership for the operation.'
    return _refused(403, -1073445859, 'rws_panel\\rws_resource_panel.cpp', 1688, text)


def wrong_mode() -> Refused:
    """The request is not allowed in this operation mode."""
    return _refused(
        403,
        -1073445860,
        'rws_panel\\rws_resource_panel.cpp',
        1402,
        'Operation not allowed in current operation mode',
    )


def wrong_state() -> Refused:
    """The request is not allowed in this execution state."""
    text = 'ERROR: Operation is illegal in current execution state'
    return _refused(400, -1073442809, 'rws_rapid\\rws_resource_rapid_execution.cpp', 1128, text)


def no_pointer() -> Refused:
    """The program pointer is not set."""
    return _refused(
        400,
        -1073442783,
        'rws_rapid\\rws_resource_rapid_execution.cpp',
        1130,
        'No program pointer set',
    )


def access_denied() -> Refused:
    """The signal's access level or a safety state forbids the request."""
    return _refused(
        403, -1073445881, 'rws_iosystem\\rws_resource_iosystem.cpp', 3554, 'Rejected', -2
    )


def invalid(text: str = 'Invalid action parameter value') -> Refused:
    """A value of the request is not valid."""
    return _refused(400, -1073445879, 'rws_services\\rws_services.cpp', 210, text)


def limit_reached(text: str) -> Refused:
    """A limit of the controller is reached."""
    return _refused(400, -1073445871, 'rws_subscription\\rws_subscription.cpp', 320, text)


def no_resource() -> Refused:
    """Unknown path."""
    return _refused(404, -1073414146, 'rws_services\\rws_services.cpp', 129, 'Resource not found')


def no_symbol_read(generation: int = 1) -> Refused:
    """Unknown RAPID symbol in a read (status 400 on IRC5)."""
    if generation == 2:
        return no_symbol_written()
    return _refused(
        400, -1073414146, 'rws_rapid\\rws_resource_rapid_symbol_data.cpp', 286, 'Symbol not found'
    )


def no_symbol_written() -> Refused:
    """Unknown RAPID symbol in a write."""
    return _refused(
        404,
        -1073442816,
        'rws_rapid\\rws_resource_rapid_symbol_data.cpp',
        254,
        'org_code: -517 Symbol not found',
    )


def no_grant() -> Refused:
    """The user lacks the grant for the request."""
    text = 'The user is not allowed access to the resource'
    return Refused(
        403, -1073445867, f'C:\\BUILD\\RW\\rapi_uas_resource.cpp[2995] {text} -1073445867 -757'
    )


def gone() -> Refused:
    """RobotWare 8 does not provide the service."""
    text = 'The service is not supported in this version of controller'
    return _refused(410, -1073445885, 'rws_services\\rws_services.cpp', 140, text)


def no_write_access() -> Refused:
    """The caller does not hold the write access of RobotWare 8."""
    text = 'The control station does not hold write access'
    return _refused(403, -1073435873, 'rws_controlstation\\rws_controlstation.cpp', 310, text)


def no_signal() -> Refused:
    """Unknown I/O signal."""
    text = 'ERROR: eio_signal_open_by_name failed status -60.'
    return _refused(404, -1073445866, 'rws_iosystem\\rws_resource_iosystem.cpp', 1986, text)


def no_file(generation: int = 1) -> Refused:
    """Unknown file or folder."""
    code, text = (
        (-1073414146, 'Resource does not exist')
        if generation == 1
        else (-1073438713, 'Path does not exist')
    )
    return Refused(404, code, f'C:\\BUILD\\RW\\rapi_file_service.cpp[221] {text} {code} -1')


def no_volume() -> Refused:
    """The path does not start with an environment variable."""
    return Refused(
        400,
        -1073438716,
        'C:\\BUILD\\RW\\rapi_file_service.cpp[237] Virtual root does not exist -1073438716 -704',
    )
