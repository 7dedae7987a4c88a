"""Forward the log of a package's core to ROS: the console and /rosout.

Records of level DEBUG, such as the last frames of a bus, go to a file only.
"""

import logging
import os

from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import get_logging_directory


class LogBridge(logging.Handler):
    """Send the records of a Python logger to a node's logger until `close`; any thread may log.

    Records of level DEBUG, too long for a console, go to `<name>_<pid>.log` in ROS' folder for
    logs.

    Args:
        name: Name of the Python logger, which is the package's.
        logger: Logger of the node.
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

    def emit(self, record: logging.LogRecord) -> None:
        """Log one record; characters that ROS cannot hold are replaced."""
        text = self.format(record).encode('utf-8', 'replace').decode('utf-8')
        if record.levelno >= logging.ERROR:
            self._logger.error(text)
        elif record.levelno >= logging.WARNING:
            self._logger.warning(text)
        else:
            self._logger.info(text)

    def close(self) -> None:
        """Detach from the logger."""
        self._source.removeHandler(self)
        self._source.removeHandler(self._details)
        self._details.close()
        super().close()
