"""What the driver's core logs, on ROS' own logging: the console as the node's line, and /rosout.

The last frames go to a file alone.
"""

import logging
import os

from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import get_logging_directory


class LogBridge(logging.Handler):
    """Sends the records of a Python logger to a node's logger while it is open; any thread may log.

    Records of level DEBUG, too long for a console, go only to `<name>_<pid>.log` in ROS' folder for
    logs.
    """

    def __init__(self, name: str, logger: RcutilsLogger):
        super().__init__(logging.INFO)
        self._logger, self._source = logger, logging.getLogger(name)
        self._details = logging.FileHandler(
            get_logging_directory() / f'{name}_{os.getpid()}.log', delay=True
        )
        self._details.addFilter(lambda record: record.levelno == logging.DEBUG)
        self._details.setFormatter(logging.Formatter('%(asctime)s %(message)s'))
        self._source.addHandler(self)
        self._source.addHandler(self._details)
        self._source.setLevel(logging.DEBUG)
        # Its errors reach the core as exceptions, and are reported once.
        logging.getLogger('pymodbus').setLevel(logging.CRITICAL)

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
        self._source.removeHandler(self._details)
        self._details.close()
        super().close()
