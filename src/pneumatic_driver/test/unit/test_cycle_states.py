"""Any order of commands, vents, faults and lost answers, and of what happens between two awaits.

No vented driver drives, and none claims that a device is vented while it runs.
"""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pymodbus.exceptions import ModbusIOException

from pneumatic_driver.board import Board
from pneumatic_driver.cycle import Cycle
from pneumatic_driver.errors import PneumaticDriverError
from pneumatic_driver.pcu2v import Pcu2v
from pneumatic_driver.register_map import load_map
from soft_arm_sim.devices.direct_client import DirectClient
from soft_arm_sim.devices.pcu2v import Pcu2vLogic
from soft_arm_sim.devices.valve_board import FUNCTIONS, VENT, BoardLogic

PERIOD_S, COMMAND_TIMEOUT_S, TICK_MS = 0.02, 0.1, 5
FATES = 'good', 'good', 'good', 'request lost', 'answer lost'


class Pause:
    """Awaitable of the next message to a coroutine of the driver."""

    def __await__(self):
        yield


class PausingClient(DirectClient):
    """Pauses before and after each message; `fate` says what becomes of it."""

    fate = 'good'

    async def _answer(self, request):
        await Pause()
        if self.fate == 'request lost':
            raise ModbusIOException('lost')
        answer = await super()._answer(request)
        await Pause()
        if self.fate == 'answer lost':
            raise ModbusIOException('lost')
        return answer


class CycleStates(RuleBasedStateMachine):
    """One coroutine of the driver at a time, as under its lock; vents are asked for at any time."""

    under_way = None  # a coroutine of the cycle

    @initialize(gripper=st.booleans())
    def start(self, gripper):
        self.now_s, self.gripper = 0.0, gripper
        self.logic = Pcu2vLogic() if gripper else BoardLogic()
        functions = (3, 4, 6, 16) if gripper else FUNCTIONS
        self.clients = []
        device_type, self.targets_pa = (Pcu2v, [50e3]) if gripper else (Board, [10e3] * 6)

        def new_client(link, trace):
            self.clients.append(PausingClient(self.logic, functions))
            return self.clients[-1]

        self.cycle = Cycle(
            device_type(
                load_map('pcu2v' if gripper else 'valve_board'),
                clock=lambda: self.now_s,
                new_client=new_client,
            ),
            COMMAND_TIMEOUT_S,
            clock=lambda: self.now_s,
        )
        self.name = None
        self.may_drive = False  # by what was asked for: only from an `arm` to the next vent
        self.vent_returned = False
        self.begin('connect')
        self.finish()

    @property
    def runs(self) -> bool:
        if self.gripper:
            return self.logic.positive_trigger or self.logic.negative_trigger
        return self.logic.mode != VENT

    def begin(self, name):
        if name == 'arm':
            self.may_drive = True
        self.name, self.vents_before = name, self.cycle._asked
        self.under_way = getattr(self.cycle, name)()
        self.step()

    def step(self, fate='good'):
        """Run to the next message, or to the end."""
        for client in self.clients:
            client.fate = fate
        try:
            self.under_way.send(None)
        except StopIteration:
            if self.name in ('vent', 'clear_faults') and self.vents_before == self.cycle._asked:
                assert not self.runs, f'{self.name} has returned, the device runs'
            self.under_way = None
        except PneumaticDriverError:
            self.under_way = None

    def finish(self):
        while self.under_way:
            self.step()

    def pass_time(self, ticks):
        self.now_s += 1e-3 * TICK_MS * ticks
        for _ in range(ticks):
            if self.gripper:
                self.logic.tick(TICK_MS, 500 * self.logic.positive_trigger)
            else:
                self.logic.tick(TICK_MS, [pa // 10 for pa in self.logic.drives_pa], 20_000)

    @precondition(lambda self: not self.under_way)
    @rule(name=st.sampled_from(['run', 'run', 'run', 'arm', 'arm', 'clear_faults']))
    def begin_something(self, name):
        if name == 'clear_faults':
            self.ask_vent()
        self.begin(name)

    @precondition(lambda self: self.under_way)
    @rule(fate=st.sampled_from(FATES))
    def go_on(self, fate):
        self.step(fate)

    @precondition(lambda self: self.under_way)
    @rule()
    def go_on_to_the_end(self):
        self.finish()

    @precondition(lambda self: self.under_way)
    @rule()
    def give_up(self):
        """The caller's time-out cancels the call."""
        self.under_way.close()
        self.under_way = None

    @rule()
    def ask_vent(self):
        self.cycle.ask_vent()
        self.may_drive = False

    @rule()
    def command(self):
        try:
            self.cycle.command(self.targets_pa)
            assert self.may_drive, 'a vented driver takes a command'
        except PneumaticDriverError:
            pass

    @rule(ticks=st.sampled_from([1, 4, 4, 24, 60]))
    def time_passes(self, ticks):
        self.pass_time(ticks)

    @rule()
    def fault(self):
        if self.gripper:
            self.logic.vent()
        else:
            self.logic.tick(TICK_MS, [11_000] * 6, 20_000)

    @rule()
    def lose_the_connection(self):
        for client in self.clients:
            client.close()

    @rule()
    def the_link_is_good_for_a_while(self):
        """Now a vented driver must not drive, whatever was before."""
        self.finish()
        asked = self.cycle.vent_pending or not self.may_drive
        for _ in range(30):
            self.pass_time(4)
            self.begin('run')
            self.finish()
        if asked:
            assert not self.runs and not self.cycle.vent_pending

    def teardown(self):
        if self.under_way:
            self.under_way.close()

    @invariant()
    def an_armed_driver_was_armed(self):
        assert self.may_drive or not self.cycle.armed

    @invariant()
    def no_claim_that_is_not_so(self):
        if not self.cycle.vent_pending and not self.cycle.device.enabled:
            assert not self.runs, 'claims vented, runs'


TestCycleStates = CycleStates.TestCase
TestCycleStates.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
