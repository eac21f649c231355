"""What one browser session holds: its client, who it is, and what it last saw."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable

import streamlit as st

from hmas.console import words
from hmas.console.client import AdminClient, ApiError, TokenError
from hmas.console.palette import Tone
from hmas.console.series import KEEP_S, ViewBuffer, Window
from hmas.console.settings import ConsoleSettings
from hmas.console.standing import Say
from hmas.daemon.wire import FleetStatus, HealthOut, Role, TopologyOut, WhoAmI

KEY = "hmas_session"
FAREWELL = "hmas_farewell"
FIRST_LOAD_POINTS = 5000


class Session:
    """Reads through the client and remembers, so that an outage leaves the last picture."""

    def __init__(
        self, client: AdminClient, who: WhoAmI, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.client = client
        self.who = who
        self.fleet: FleetStatus | None = None
        self.health: HealthOut | None = None
        self.problem = ""
        self._monotonic = monotonic
        self._seen_at: float | None = None
        self._buffers: dict[str, ViewBuffer] = {}
        self._topologies: list[TopologyOut] = []
        self._window_end_s: float | None = None

    @property
    def may_act(self) -> bool:
        return self.who.role is Role.OPERATOR

    def refresh(self) -> FleetStatus | None:
        """The fleet now, or as last seen; ``problem`` says why it could not be read.

        Raises:
            TokenError: the token was taken away: log in again.
        """
        try:
            self.fleet = self.client.status()
            self.health = self.client.health()
        except TokenError:
            raise
        except ApiError as error:
            self.problem = str(error)
        else:
            self.problem = ""
            self._seen_at = self._monotonic()
        return self.fleet

    def freshness(self) -> Say:
        """How old the picture is."""
        if self._seen_at is None:
            return Say(Tone.BAD, "no data yet", self.problem)
        age_s = self._monotonic() - self._seen_at
        if self.problem:
            return Say(Tone.BAD, f"data {words.duration(age_s)} old", self.problem)
        return Say(Tone.GOOD, "live", "read from the daemon just now")

    def window(self, engine_id: str, span_s: float, *, follow: bool = True) -> Window:
        """Views of one engine; what could not be read now is shown as last seen.

        Without ``follow`` the window stands still where it was.
        """
        buffer = self._buffers.setdefault(engine_id, ViewBuffer())
        now_s = self.fleet.now_s if self.fleet else buffer.newest_s or 0.0
        self._window_end_s = now_s if follow else self._window_end_s or now_s
        since_s = buffer.newest_s if buffer.newest_s is not None else now_s - KEEP_S
        try:
            buffer.merge(self.client.views(engine_id, since_s, FIRST_LOAD_POINTS))
        except TokenError:
            raise
        except ApiError as error:
            self.problem = str(error)
        return buffer.window(self._window_end_s, span_s)

    def topologies(self) -> list[TopologyOut]:
        """Ω, read once. Raises :class:`ApiError`."""
        if not self._topologies:
            self._topologies = self.client.topologies()
        return self._topologies


def current() -> Session | None:
    """The session of this browser; None before the login."""
    session: Session | None = st.session_state.get(KEY)
    return session


def log_in(settings: ConsoleSettings, token: str) -> Session:
    """Raises :class:`ApiError` when the token is refused or nobody answers."""
    client = AdminClient(settings.admin_url, token, settings.timeout_s)
    try:
        session = Session(client, client.whoami())
    except ApiError:
        client.close()
        raise
    # A browser that goes away takes its session along; nobody logs out then.
    weakref.finalize(session, client.close)
    st.session_state[KEY] = session
    return session


def log_out(because: str = "") -> None:
    """Forget the session; the login page says why."""
    session: Session | None = st.session_state.pop(KEY, None)
    if session is not None:
        session.client.close()
    st.session_state[FAREWELL] = because
