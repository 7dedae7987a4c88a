"""Configuration database of the emulated cell: domains, types, instances and their attributes."""

from abb_rws_emulator import refusals
from abb_rws_emulator.controller import irb120
from abb_rws_emulator.controller.gripper_cell import SignalState

Instance = dict[str, str]
DOMAINS = ('EIO', 'MMC', 'MOC', 'PROC', 'SIO', 'SYS')


def _robot() -> dict[str, dict[str, list[Instance]]]:
    """Return the instances of the motion and system domains that describe the IRB 120.

    Angles in rad; names of attributes as the controller spells them.
    """
    joints = [f'rob1_{axis}' for axis in range(1, 7)]
    bounds = {name: limits for name, limits in zip(joints, irb120.RANGE_RAD, strict=True)}
    frame = {
        'base_frame_pos_x': '0',
        'base_frame_pos_y': '0',
        'base_frame_pos_z': '0',
        'base_frame_orient_u0': '1',
    }
    frame |= {f'base_frame_orient_u{i}': '0' for i in (1, 2, 3)} | {'base_frame_coordinated': ''}
    motion = {
        'ARM': [
            {'name': n, 'lower_joint_bound': f'{low:.6g}', 'upper_joint_bound': f'{high:.6g}'}
            for n, (low, high) in bounds.items()
        ],
        'JOINT': [
            {
                'name': n,
                'logical_axis': str(i),
                'kinematic_axis_number': str(i),
                'use_arm': n,
                'use_transmission': n,
            }
            for i, n in enumerate(joints, start=1)
        ],
        'TRANSMISSION': [{'name': n, 'rotating_move': 'true'} for n in joints],
        'ROBOT': [
            {'name': 'ROB_1', 'use_robot_type': 'ROB1_0.58_3'}
            | {f'use_joint_{i}': n for i, n in enumerate(joints)}
            | frame
        ],
        'MECHANICAL_UNIT': [{'name': 'ROB_1', 'use_robot': 'ROB_1'}],
        'SINGLE': [],
    }
    system = {
        'CAB_TASKS': [
            {
                'Name': 'T_ROB1',
                'Type': 'NORMAL',
                'MotionTask': 'TRUE',
                'UseMechanicalUnitGroup': 'rob1',
            }
        ],
        'MECHANICAL_UNIT_GROUP': [
            {'Name': 'rob1', 'Robot': 'ROB_1', 'UseMotionPlanner': 'motion_planner_1'}
        ],
        'PRESENT_OPTIONS': [
            {'name': 'baseware', 'desc': 'RobotWare Base'},
            {'name': 'pcinterface', 'desc': 'PC Interface'},
        ],
    }
    return {'MOC': motion, 'SYS': system}


class Configuration:
    """Instances by domain and type; names of domains and types in upper or lower case."""

    def __init__(self, signals: dict[str, SignalState]):
        self.types: dict[str, dict[str, dict[str, Instance]]] = {domain: {} for domain in DOMAINS}
        networks = dict.fromkeys(path.split('/')[0] for path in signals)
        devices = dict.fromkeys('/'.join(path.split('/')[:2]) for path in signals)
        self._fill(
            'EIO', 'INDUSTRIAL_NETWORK', [{'Name': name, 'Simulated': 'false'} for name in networks]
        )
        self._fill(
            'EIO',
            'EIO_UNIT',
            [{'Name': path.split('/')[1], 'Bus': path.split('/')[0]} for path in devices],
        )
        self._fill(
            'EIO',
            'EIO_SIGNAL',
            [
                {
                    'Name': s.name,
                    'SignalType': s.kind,
                    'Device': s.path.split('/')[1],
                    'Category': s.category,
                    'Access': s.access,
                    'Label': '',
                }
                for s in signals.values()
            ],
        )
        self._fill(
            'EIO',
            'EIO_ACCESS',
            [{'Name': name} for name in ('All', 'Default', 'ReadOnly', 'Internal')],
        )
        for domain, kinds in _robot().items():
            for kind, instances in kinds.items():
                self._fill(domain, kind, instances)
        self._fill('SIO', 'COM_APP', [{'Name': 'RobAPI'}])
        self._fill('MMC', 'MMC_MODULES', [])
        self._fill('PROC', 'PROC_TYPES', [])

    def _fill(self, domain: str, kind: str, instances: list[Instance]) -> None:
        self.types[domain][kind] = {
            instance.get('Name') or instance['name']: instance for instance in instances
        }

    def domain(self, name: str) -> str:
        """Return the name of a domain as the database spells it.

        Raises:
            Refused: If there is no such domain.
        """
        if name.upper() not in self.types:
            raise refusals.no_resource()
        return name.upper()

    def instances(self, domain: str, kind: str) -> dict[str, Instance]:
        """Return the instances of a type by name.

        Raises:
            Refused: If there is no such domain or type.
        """
        types = self.types[self.domain(domain)]
        if kind.upper() not in types:
            raise refusals.no_resource()
        return types[kind.upper()]

    def text(self, domain: str) -> str:
        """Return a domain as the text of a CFG file."""
        parts = [f'{self.domain(domain)}:CFG_1.0:6:0::']
        for kind, instances in self.types[self.domain(domain)].items():
            lines = [
                ' '.join(f'-{name} "{value}"' for name, value in instance.items())
                for instance in instances.values()
            ]
            parts.append('\n'.join([f'#\n{kind}:', *(f'      {line}' for line in lines)]))
        return '\n'.join(parts) + '\n'
