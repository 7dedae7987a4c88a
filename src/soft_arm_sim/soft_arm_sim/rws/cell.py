"""What the emulated controller has: signals, RAPID variables, tasks and modules of the gripper paper's cell."""

from dataclasses import dataclass


@dataclass
class SignalState:
    """One I/O signal; `access` is the access level, only All can be written from outside."""

    path: str
    kind: str
    value: float = 0.0
    access: str = 'All'
    category: str = ''
    simulated: bool = False

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition('/')[2]

    @property
    def text(self) -> str:
        """The value as the controller writes it."""
        return f'{self.value:g}'


def signals() -> dict[str, SignalState]:
    """Signals in the order the controller lists them.

    The gripper paper's own program reads DO_05..DO_01 at places 18 to 22 of the list and DI_02 at place 37.
    """
    listed = [
        SignalState(f'Local/PANEL/{name}', 'DI', 1.0, 'ReadOnly', 'safety')
        for name in (
            'AS1',
            'AS2',
            'AUTO1',
            'AUTO2',
            'CH1',
            'CH2',
            'EN1',
            'EN2',
            'ES1',
            'ES2',
            'ENABLE1',
            'ENABLE2_1',
            'GS1',
            'GS2',
            'MAN1',
            'MAN2',
            'SS1',
            'SS2',
        )
    ]
    listed += [SignalState(f'DeviceNet/d652/DO_{i:02d}', 'DO') for i in (5, 4, 3, 2, 1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)]
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


def symbols() -> dict[str, str]:
    """RAPID variables and their first values; J_Orientation_Target and in_position belong to the paper's program."""
    home = '[[0,0,0,0,30,0],[0,0,0,0,0,0]]'
    return {
        'T_ROB1/Module1/J_Orientation_Target': home,
        'T_ROB1/Module1/in_position': '1',
        'T_ROB1/Module1/test_var_num': '0',
        'T_ROB1/Module1/test_var_str': '"x"',
        'T_ROB1/Module1/test_flag': 'FALSE',
        'T_ROB1/Module1/test_array': '[0,0,0]',
        'T_ROB1/Module1/test_jointtarget': '[[0,0,0,0,30,0],[9E+09,9E+09,9E+09,9E+09,9E+09,9E+09]]',
        'T_ROB1/user/reg1': '0',
        'T_ROB1/BASE/tool0': '[TRUE,[[0,0,0],[1,0,0,0]],[0.001,[0,0,0.001],[1,0,0,0],0,0,0]]',
    }


TARGET_SYMBOL = 'T_ROB1/Module1/J_Orientation_Target'
IN_POSITION_SYMBOL = 'T_ROB1/Module1/in_position'
MODULES = {'Module1': 'ProgMod', 'BASE': 'SysMod', 'user': 'SysMod'}
EVENT_TEXTS = {
    10010: (1, 'Motors OFF state'),
    10011: (1, 'Motors ON state'),
    10012: (1, 'Safety guard stop state'),
    10013: (3, 'Emergency stop state'),
    10015: (1, 'Manual mode selected'),
    10017: (1, 'Automatic mode confirmed'),
    10122: (1, 'Program stopped'),
    10150: (1, 'Program started'),
    10014: (3, 'System failure state'),
    10155: (1, 'Program restarted'),
    50027: (3, 'Joint Out of Range'),
}
