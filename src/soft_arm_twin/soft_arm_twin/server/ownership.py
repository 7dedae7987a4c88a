"""Ownership of control by at most one page of a server."""

from soft_arm_twin.errors import TwinError


class TakenError(TwinError):
    """Another page has control."""


class Ownership:
    """Single owner, until it releases control or disconnects.

    Attributes:
        owner: Name of the page that has control, None if control is free.
        since_s: Time at which it took control, on the caller's monotonic clock [s].
    """

    def __init__(self) -> None:
        self.owner: str | None = None
        self.since_s = 0.0

    def take(self, page: str, now_s: float) -> bool:
        """Give control to a page; return whether the owner has changed.

        Raises:
            TakenError: If another page has control.
        """
        if self.owner == page:
            return False
        if self.owner is not None:
            raise TakenError(
                f'{self.owner} has had control for {now_s - self.since_s:.0f} s: '
                'it gives it back, or its page is closed'
            )
        self.owner, self.since_s = page, now_s
        return True

    def release(self, page: str, now_s: float) -> bool:
        """Free control if this page has it; return whether it had."""
        if self.owner != page:
            return False
        self.owner, self.since_s = None, now_s
        return True
