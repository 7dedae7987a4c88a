"""The configuration database: domains, types and instances with their attributes; what the emulated cell shows of it."""

from soft_arm_sim.rws import refusals
from soft_arm_sim.rws.cell import SignalState

Instance = dict[str, str]
DOMAINS = ('EIO', 'MMC', 'MOC', 'PROC', 'SIO', 'SYS')


class Configuration:
    """Instances by domain and type; the names of domains and types are found in any case."""

    def __init__(self, signals: dict[str, SignalState]):
        self.types: dict[str, dict[str, dict[str, Instance]]] = {domain: {} for domain in DOMAINS}
        networks = dict.fromkeys(path.split('/')[0] for path in signals)
        devices = dict.fromkeys('/'.join(path.split('/')[:2]) for path in signals)
        self._fill('EIO', 'INDUSTRIAL_NETWORK', [{'Name': name, 'Simulated': 'false'} for name in networks])
        self._fill('EIO', 'EIO_UNIT', [{'Name': path.split('/')[1], 'Bus': path.split('/')[0]} for path in devices])
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
        self._fill('EIO', 'EIO_ACCESS', [{'Name': name} for name in ('All', 'Default', 'ReadOnly', 'Internal')])
        self._fill('MOC', 'ROBOT', [{'Name': 'ROB_1', 'use_robot_type': 'ROB1_0.58_3', 'base_frame_pos_x': '0', 'base_frame_pos_z': '0'}])
        self._fill('MOC', 'MECHANICAL_UNIT_GROUP', [{'Name': 'rob1', 'robot': 'ROB_1', 'use_motion_planner': 'motion_planner_1'}])
        self._fill('MOC', 'MECHANICAL_UNIT', [{'Name': 'ROB_1', 'use_robot': 'ROB_1'}])
        self._fill('MOC', 'ARM', [{'Name': f'rob1_{axis}', 'use_arm_type': f'ROB1_{axis}'} for axis in range(1, 7)])
        self._fill('SYS', 'CAB_TASKS', [{'Name': 'T_ROB1', 'Type': 'NORMAL', 'MotionTask': 'TRUE'}])
        self._fill('SYS', 'PRESENT_OPTIONS', [{'Name': 'pcinterface', 'desc': '616-1 PC Interface'}])
        self._fill('SIO', 'COM_APP', [{'Name': 'RobAPI'}])
        self._fill('MMC', 'MMC_MODULES', [])
        self._fill('PROC', 'PROC_TYPES', [])

    def _fill(self, domain: str, kind: str, instances: list[Instance]) -> None:
        self.types[domain][kind] = {instance['Name']: instance for instance in instances}

    def domain(self, name: str) -> str:
        """The domain as the database spells it.

        Raises:
            Refused: If there is none.
        """
        if name.upper() not in self.types:
            raise refusals.no_resource()
        return name.upper()

    def instances(self, domain: str, kind: str) -> dict[str, Instance]:
        """Instances of a type by name.

        Raises:
            Refused: If there is no such domain or type.
        """
        types = self.types[self.domain(domain)]
        if kind.upper() not in types:
            raise refusals.no_resource()
        return types[kind.upper()]

    def text(self, domain: str) -> str:
        """A domain as a CFG file."""
        parts = [f'{self.domain(domain)}:CFG_1.0:6:0::']
        for kind, instances in self.types[self.domain(domain)].items():
            lines = [' '.join(f'-{name} "{value}"' for name, value in instance.items()) for instance in instances.values()]
            parts.append('\n'.join([f'#\n{kind}:', *(f'      {line}' for line in lines)]))
        return '\n'.join(parts) + '\n'
