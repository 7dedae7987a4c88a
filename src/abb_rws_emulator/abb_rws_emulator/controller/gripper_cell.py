"""Contents of the emulated controller: I/O signals, RAPID variables and event titles."""

from dataclasses import dataclass


@dataclass
class SignalState:
    """I/O signal. Clients can write it only with the access level All."""

    path: str
    kind: str
    value: float = 0.0
    access: str = 'All'
    category: str = ''

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition('/')[2]

    @property
    def text(self) -> str:
        """Value as the controller formats it."""
        return f'{self.value:g}'


_PANEL_INPUTS = (
    *('AS1', 'AS2', 'AUTO1', 'AUTO2', 'CH1', 'CH2', 'EN1', 'EN2', 'ES1', 'ES2'),
    *('ENABLE1', 'ENABLE2_1', 'GS1', 'GS2', 'MAN1', 'MAN2', 'SS1', 'SS2'),
)


def signals() -> dict[str, SignalState]:
    """Return the signals by path, in the order of the controller.

    The program of the gripper paper reads DO_05..DO_01 at indices 18 to 22 of the list and DI_02
    at index 37.
    """
    listed = [
        SignalState(f'Local/PANEL/{name}', 'DI', 1.0, 'ReadOnly', 'safety')
        for name in _PANEL_INPUTS
    ]
    outputs = (5, 4, 3, 2, 1, *range(6, 17))
    listed += [SignalState(f'DeviceNet/d652/DO_{i:02d}', 'DO') for i in outputs]
    listed += [SignalState(f'DeviceNet/d652/DI_{i:02d}', 'DI') for i in (5, 4, 3, 2, 1, 6, 7, 8)]
    listed += [
        SignalState('Local/DRV_1/mode', 'AO'),
        SignalState('Local/DRV_1/DRV1TESTE2', 'DO', 0.0, 'Default', 'safety'),
        SignalState('Local/DRV_1/test_digital_io1', 'DO'),
        SignalState('Local/DRV_1/stop_egm', 'DO'),
        SignalState('DeviceNet/d651/test_digital_io2', 'DO'),
        SignalState('Local/DRV_1/test_analog_io1', 'AO'),
        SignalState('DeviceNet/d651/test_analog_io2', 'AO'),
    ]
    return {signal.path: signal for signal in listed}


TARGET_SYMBOL = 'T_ROB1/Module1/J_Orientation_Target'
IN_POSITION_SYMBOL = 'T_ROB1/Module1/in_position'
_UNUSED_AXES = '[9E+09,9E+09,9E+09,9E+09,9E+09,9E+09]'
_LOAD = '[0.001,[0,0,0.001],[1,0,0,0],0,0,0]'
_POSE = '[[0,0,0],[1,0,0,0]]'
VARIABLES: dict[str, tuple[str, str, tuple[int, ...], str]] = {
    TARGET_SYMBOL: ('per', 'jointtarget', (), '[[0,0,0,0,30,0],[0,0,0,0,0,0]]'),
    IN_POSITION_SYMBOL: ('per', 'num', (), '1'),
    'T_ROB1/Module1/test_var_num': ('per', 'num', (), '0'),
    'T_ROB1/Module1/test_var_str': ('per', 'string', (), '"x"'),
    'T_ROB1/Module1/test_flag': ('per', 'bool', (), 'FALSE'),
    'T_ROB1/Module1/test_array': ('per', 'num', (3,), '[0,0,0]'),
    'T_ROB1/Module1/test_jointtarget': (
        'per',
        'jointtarget',
        (),
        f'[[0,0,0,0,30,0],{_UNUSED_AXES}]',
    ),
    'T_ROB1/BASE/tool0': ('per', 'tooldata', (), f'[TRUE,{_POSE},{_LOAD}]'),
    'T_ROB1/BASE/wobj0': ('per', 'wobjdata', (), f'[FALSE,TRUE,"",{_POSE},{_POSE}]'),
    'T_ROB1/BASE/load0': ('per', 'loaddata', (), _LOAD),
    **{f'T_ROB1/user/reg{i}': ('var', 'num', (), '0') for i in range(1, 6)},
}
"""Symbol type, data type, dimensions and initial literal of each RAPID variable.

The program moves the robot to J_Orientation_Target and then sets in_position to 1.
"""

EVENT_TITLES = {
    10010: (1, 'Motors OFF state'),
    10011: (1, 'Motors ON state'),
    10012: (1, 'Safety guard stop state'),
    10013: (3, 'Emergency stop state'),
    10014: (3, 'System failure state'),
    10015: (1, 'Manual mode selected'),
    10017: (1, 'Automatic mode confirmed'),
    10122: (1, 'Program stopped'),
    10150: (1, 'Program started'),
    50027: (3, 'Joint Out of Range'),
}
"""Level (1 information, 2 warning, 3 error) and title of each event code."""
