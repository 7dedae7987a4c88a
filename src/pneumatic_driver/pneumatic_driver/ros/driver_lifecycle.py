"""Lifecycle of a pneumatic driver's node.

Configure connects and verifies, activate enables, everything else vents.
"""

import time

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn

from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import HeldError, LinkError, NoConnectionError, PneumaticDriverError
from soft_arm_node_kit.node import LifecycleNode

_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_AUTOSTART_PERIOD_S = 0.5
# with autostart: a device that is started together with the driver may take so long before that is
# an error
_DEVICE_START_S = 20.0


class DriverLifecycleNode(LifecycleNode):
    """The transitions; the node that derives from it gives `_driver` and calls `begin`."""

    _driver: Driver

    def __init__(self, name: str):
        super().__init__(name)
        self._phase = 'unconfigured'
        self._reason = ''
        self._autostart = False
        self._patient_until_s = 0.0

    def begin(self, autostart: bool) -> None:
        """Follow transitions.

        With `autostart` configure and activate without being asked, until somebody asks for
        something else.
        """
        self._autostart = autostart
        self._patient_until_s = time.monotonic() + (_DEVICE_START_S if autostart else 0.0)
        self.create_timer(_AUTOSTART_PERIOD_S, self._start_by_itself)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Connect, verify, vent."""
        return self._transition(self._driver.connect, 'inactive')

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Enable the device, from ambient pressure."""
        return self._transition(self._driver.arm, 'active')

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent. Until the device has confirmed it the node stays active, without moving the arm."""
        self._autostart = False  # who takes the arm out of service decides when it comes back
        if self._phase == 'inactive':
            return _SUCCESS  # the driver has disarmed itself before, see `follow_driver`
        return self._transition(self._driver.vent, 'inactive')

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent and close the connection; an error if the device does not confirm it."""
        self._autostart = False
        if self._transition(self._driver.disconnect, 'unconfigured') == _SUCCESS:
            return _SUCCESS
        return TransitionCallbackReturn.ERROR

    def on_shutdown(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent and close the connection; the service `vent` still works."""
        result = self._transition(self._driver.disconnect, 'finalized')
        self._phase = 'finalized'
        return result

    def on_error(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent and close the connection; the driver goes on venting until that is confirmed."""
        self._transition(self._driver.disconnect, 'unconfigured')
        self._phase = 'unconfigured'
        return _SUCCESS

    def follow_driver(self) -> None:
        """Become inactive, because the driver has disarmed itself or was vented."""
        if self._phase == 'active':
            self._phase = 'inactive'
            self.trigger_deactivate()

    def _transition(self, action, phase: str) -> TransitionCallbackReturn:
        try:
            action()
        except NoConnectionError as error:
            if time.monotonic() < self._patient_until_s:
                self.get_logger().info(
                    f'waiting for {self._driver.device} at {self._driver.link}', once=True
                )
            else:
                self.get_logger().error(str(error), throttle_duration_sec=5.0)
            return _FAILURE
        except PneumaticDriverError as error:
            # The arm belongs to another client until an operator says otherwise.
            self._autostart = self._autostart and not isinstance(error, HeldError)
            if isinstance(error, LinkError) and time.monotonic() < self._patient_until_s:
                # The device has just started, and answers late.
                self.get_logger().warning(str(error), throttle_duration_sec=5.0)
            else:
                self.get_logger().error(str(error), throttle_duration_sec=5.0)
            return _FAILURE
        self.get_logger().info(f'{self._phase} -> {phase}, {self._driver.link}')
        self._phase, self._reason = phase, ''
        return _SUCCESS

    def _start_by_itself(self) -> None:
        if not self._driver.armed and not self._driver.vent_pending:
            self.follow_driver()  # after a vent that was confirmed late
        if self._autostart and self._phase == 'unconfigured':
            self.trigger_configure()
        if self._autostart and self._phase == 'inactive':
            self.trigger_activate()
