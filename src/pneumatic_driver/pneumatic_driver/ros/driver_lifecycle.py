"""Lifecycle of a driver node: configure connects, activate enables, everything else vents."""

import time
from collections.abc import Callable

from rclpy.lifecycle import LifecycleState, TransitionCallbackReturn
from std_srvs.srv import Trigger

from pneumatic_driver.driver import Driver
from pneumatic_driver.errors import HeldError, LinkError, NoConnectionError, PneumaticDriverError
from pneumatic_driver.ros.conversions import NOT_CONFIRMED
from soft_arm_node_kit.node import LifecycleNode

_SUCCESS, _FAILURE = TransitionCallbackReturn.SUCCESS, TransitionCallbackReturn.FAILURE
_AUTOSTART_PERIOD_S = 0.5
# With autostart, a missing device is an error only after this time: both may start together.
_DEVICE_START_S = 20.0


class DriverLifecycleNode(LifecycleNode):
    """Transitions of a driver node; subclasses set `_driver` and call `begin`."""

    _driver: Driver

    def __init__(self, name: str):
        super().__init__(name)
        self._phase = 'unconfigured'
        self._reason = ''
        self._autostart = False
        self._patient_until_s = 0.0

    def begin(self, autostart: bool) -> None:
        """Follow transitions and the services `vent` and `clear_faults`.

        With `autostart` configure and activate without a request, until an operator requests
        another state.
        """
        self._autostart = autostart
        self._patient_until_s = time.monotonic() + (_DEVICE_START_S if autostart else 0.0)
        self.create_service(Trigger, 'vent', self._on_vent)
        self.create_service(Trigger, 'clear_faults', self._on_clear_faults)
        self.create_timer(_AUTOSTART_PERIOD_S, self._start_by_itself)

    def on_configure(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Connect, verify, vent."""
        return self._transition(self._driver.connect, 'inactive')

    def on_activate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Enable the device, from ambient pressure."""
        return self._transition(self._driver.arm, 'active')

    def on_deactivate(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent. Until the device confirms, the node stays active without moving the arm."""
        self._autostart = False  # the operator decides when the arm returns to service
        if self._phase == 'inactive':
            return _SUCCESS  # the driver has disarmed itself, see `follow_driver`
        return self._transition(self._driver.vent, 'inactive')

    def on_cleanup(self, state: LifecycleState) -> TransitionCallbackReturn:
        """Vent and close the connection; an error if the device does not confirm."""
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
        """Vent and close the connection; the driver keeps venting until that is confirmed."""
        self._transition(self._driver.disconnect, 'unconfigured')
        self._phase = 'unconfigured'
        return _SUCCESS

    def _on_vent(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        return self._on_request('vent', self._driver.vent, 'vented', response)

    def _on_clear_faults(
        self, request: Trigger.Request, response: Trigger.Response
    ) -> Trigger.Response:
        if self._driver.armed and not self._driver.faults:
            response.success = True
            response.message = f'no latched fault, nothing to clear: still {self._phase}'
            self.get_logger().info(f'service clear_faults: {response.message}')
            return response
        done = 'vented, faults cleared'
        return self._on_request('clear_faults', self._driver.clear_faults, done, response)

    def _on_request(
        self, service: str, action: Callable[[], None], done: str, response: Trigger.Response
    ) -> Trigger.Response:
        """Run an action that vents, for a service; an active node becomes inactive."""
        log = self.get_logger()
        log.info(f'service {service} was called while {self._phase}: the driver vents')
        self._autostart = False  # the operator decides when the arm returns to service
        try:
            action()
            response.success, response.message = True, f'{done}; activate the node to move again'
            log.info(f'service {service}: {done}')
        except PneumaticDriverError as error:
            pending = f'{NOT_CONFIRMED}: ' if self._driver.cycle.vent_pending else ''
            response.success, response.message = False, f'{pending}{error}'
            log.error(f'service {service}: {response.message}')
        if not self._driver.cycle.vent_pending:
            self.follow_driver()
        return response

    def follow_driver(self) -> None:
        """Become inactive after the driver has disarmed itself or was vented."""
        if self._phase == 'active':
            self.get_logger().info('active -> inactive')
            self._phase = 'inactive'
            self.trigger_deactivate()

    def disarmed(self, reason: str, auto_recover: bool) -> None:
        """Become inactive because the driver has disarmed itself."""
        self.get_logger().error(f'inactive, the driver vents: {reason}')
        recover = self._autostart and auto_recover
        self.follow_driver()
        self._autostart, self._reason = recover, reason

    def _transition(self, action: Callable[[], None], phase: str) -> TransitionCallbackReturn:
        log, link = self.get_logger(), self._driver.device.map.link
        patient = time.monotonic() < self._patient_until_s
        try:
            action()
        except PneumaticDriverError as error:
            # A held arm belongs to another client until an operator decides otherwise.
            self._autostart = self._autostart and not isinstance(error, HeldError)
            if patient and isinstance(error, NoConnectionError):
                log.info(f'waiting for {self._driver.device.map.device.name} at {link}', once=True)
            elif patient and isinstance(error, LinkError):  # booted just now, and answers late
                log.warning(str(error), throttle_duration_sec=5.0)
            else:
                log.error(str(error), throttle_duration_sec=5.0)
            return _FAILURE
        log.info(f'{self._phase} -> {phase}, {link}')
        self._phase, self._reason = phase, ''
        return _SUCCESS

    def _start_by_itself(self) -> None:
        if not self._driver.armed and not self._driver.cycle.vent_pending:
            self.follow_driver()  # after a vent that was confirmed late
        if self._autostart and self._phase == 'unconfigured':
            self.trigger_configure()
        if self._autostart and self._phase == 'inactive':
            self.trigger_activate()
