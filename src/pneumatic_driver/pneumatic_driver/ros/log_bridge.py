"""What the driver's core logs, on ROS' own logging: the console as the node's line, and /rosout."""

import logging

from rclpy.impl.rcutils_logger import RcutilsLogger


class LogBridge(logging.Handler):
    """Sends the records of a Python logger to a node's logger while it is open; any thread may log."""

    def __init__(self, name: str, logger: RcutilsLogger):
        super().__init__(logging.INFO)
        self._logger, self._source = logger, logging.getLogger(name)
        self._source.addHandler(self)
        self._source.setLevel(logging.INFO)
        logging.getLogger('pymodbus').setLevel(logging.CRITICAL)  # its errors reach the core as exceptions and are said once

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record."""
        text = self.format(record)
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)

    def close(self) -> None:
        """Leave the logger."""
        self._source.removeHandler(self)
        super().close()
