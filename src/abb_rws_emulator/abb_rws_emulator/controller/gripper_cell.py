"""Content of the emulated controller: signals, RAPID modules and settings of the paper's cell."""

from dataclasses import dataclass


@dataclass
class SignalState:
    """One I/O signal; clients can write it only with the access level All."""

    path: str
    kind: str
    value: float = 0.0
    access: str = 'All'
    category: str = ''
    simulated: bool = False
    blocked: bool = False

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rpartition('/')[2]

    @property
    def text(self) -> str:
        """Value as the controller writes it."""
        return f'{self.value:g}'


def signals() -> dict[str, SignalState]:
    """Return the signals in the order of the controller.

    The gripper paper's own program reads DO_05..DO_01 at places 18 to 22 of the list and DI_02 at
    place 37.
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
    listed += [
        SignalState(f'DeviceNet/d652/DO_{i:02d}', 'DO')
        for i in (5, 4, 3, 2, 1, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16)
    ]
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


MODULE_TEXTS = {
    'Module1': """MODULE Module1
  PERS jointtarget J_Orientation_Target:=[[0,0,0,0,30,0],[0,0,0,0,0,0]];
  PERS num in_position:=1;
  PERS num test_var_num:=0;
  PERS string test_var_str:="x";
  PERS bool test_flag:=FALSE;
  PERS num test_array{3}:=[0,0,0];
  PERS jointtarget test_jointtarget:=[[0,0,0,0,30,0],[9E+09,9E+09,9E+09,9E+09,9E+09,9E+09]];
  PROC main()
    in_position:=0;
    MoveAbsJ J_Orientation_Target,v1000,fine,tool0;
    in_position:=1;
  ENDPROC
ENDMODULE
""",
    'BASE': """MODULE BASE(SYSMODULE,NOSTEPIN,VIEWONLY)
  PERS tooldata tool0:=[TRUE,[[0,0,0],[1,0,0,0]],[0.001,[0,0,0.001],[1,0,0,0],0,0,0]];
  PERS wobjdata wobj0:=[FALSE,TRUE,"",[[0,0,0],[1,0,0,0]],[[0,0,0],[1,0,0,0]]];
  PERS loaddata load0:=[0.001,[0,0,0.001],[1,0,0,0],0,0,0];
ENDMODULE
""",
    'user': """MODULE user(SYSMODULE)
  VAR num reg1:=0;
  VAR num reg2:=0;
  VAR num reg3:=0;
  VAR num reg4:=0;
  VAR num reg5:=0;
ENDMODULE
""",
}
"""Text by name of the loaded modules.

J_Orientation_Target and in_position belong to the gripper paper's program.
"""


SETTINGS = {
    'ctrl-name': 'IRB120_EMULATOR',
    'timezone': 'UTC',
    'lang': 'en',
    'program': 'gripper',
    'tool': 'tool0',
    'wobj': 'wobj0',
    'payload': 'load0',
    'total-payload': 'load0',
    'jog-mode': 'Linear',
    'coord-system': 'Base',
    'mode': 'Activated',
    'lead-through': 'Inactive',
    'nonmotionexecution': 'OFF',
    'vtstate': 'running',
    'vtspeed': '100',
    'vttimeslice': '24',
}
"""Settings that a client may write and read back, without an effect on the robot."""
TARGET_SYMBOL = 'T_ROB1/Module1/J_Orientation_Target'
IN_POSITION_SYMBOL = 'T_ROB1/Module1/in_position'
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
