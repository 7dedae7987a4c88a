"""Write access of sessions: masterships."""

from collections.abc import Callable

from abb_rws_emulator import refusals


class AccessRights:
    """Masterships, by session.

    Args:
        robotware: Major version. From 7 (OmniCore) RAPID writes require a mastership requested
            before; IRC5 takes a free one implicitly. From 8 one write access replaces the
            masterships.
        is_automatic: Returns True in automatic mode.
        on_change: Called with the RWS 1.0 path of each resource that changes.
    """

    def __init__(
        self,
        robotware: int,
        is_automatic: Callable[[], bool],
        on_change: Callable[[str], None],
    ):
        self.strict_mastership, self.single_write_access = robotware >= 7, robotware >= 8
        self.masters: dict[str, str | None] = dict.fromkeys(
            ('edit', 'motion') if self.strict_mastership else ('cfg', 'motion', 'rapid')
        )
        self._is_automatic, self._on_change = is_automatic, on_change

    def clear(self) -> None:
        """Release every mastership, as a restart does."""
        self.masters = dict.fromkeys(self.masters)

    def request_mastership(self, session: str, domains: list[str]) -> None:
        """Grant masterships to a session."""
        if not self._is_automatic():
            raise refusals.wrong_mode()
        if any(self.masters[domain] not in (None, session) for domain in domains):
            raise refusals.held()
        for domain in domains:
            self._set_master(domain, session)

    def release_mastership(self, session: str, domains: list[str]) -> None:
        """Release masterships of a session."""
        if any(self.masters[domain] != session for domain in domains):
            raise refusals.not_held()
        for domain in domains:
            self._set_master(domain, None)

    def require_edit(self, session: str) -> None:
        """Refuse a session without write access to the program."""
        holder = self.masters['edit' if self.strict_mastership else 'rapid']
        if self.single_write_access and holder != session:
            raise refusals.no_write_access()
        if holder is None and not self.strict_mastership and self._is_automatic():
            return
        if holder is None:
            raise refusals.mastership_missing()
        if holder != session:
            raise refusals.held()

    def require_automatic(self) -> None:
        """Refuse a write in manual mode."""
        if not self._is_automatic():
            raise refusals.mastership_missing()

    def steal_mastership(self, domain: str, holder: str | None) -> None:
        """Assign a mastership to the pendant, or release it (None)."""
        self._set_master(domain, holder)

    def forget_session(self, session: str) -> None:
        """Release the masterships of a session that ended."""
        for domain, holder in self.masters.items():
            if holder == session:
                self._set_master(domain, None)

    def _set_master(self, domain: str, holder: str | None) -> None:
        self.masters[domain] = holder
        self._on_change(f'/rw/mastership/{domain}')
