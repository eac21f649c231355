"""The band [u_low, u_high] that Statera keeps u_t in, by extremum seeking (paper 3.4.2, Fig. 4).

Where an engine does best depends on its kernels, its cache and its traffic, so the upper edge is
probed: a little higher, a little lower, twice each in the order + - - + (a load that rises or
falls steadily cancels out), and goodput per second is compared. The edge moves towards the side
that did better, by as much as the difference weighs against ``tg_best``, the best goodput of late
(perturbation-based extremum seeking, Krstic and Wang 2000, in discrete steps).

All this happens only while the controls hold something back: an edge that binds nothing cannot be
judged, and a lightly loaded engine is left alone. Where neither side did better, probing rests.
"""

from __future__ import annotations

from typing import Final

from hmas.controllers.config import StateraConfig
from hmas.controllers.views import VShort

SIGNS: Final = (1, -1, -1, 1)
NOISE: Final = 0.02
"""Differences below this share of ``tg_best`` move nothing."""
MAX_MOVE: Final = 0.05
REST_S: Final = 300.0
"""No probing for this long after a round that moved nothing."""
BEST_HALF_LIFE_S: Final = 600.0
"""``tg_best`` is forgotten at this rate: it belongs to the traffic it was reached with."""


class BandSeeker:
    """``observe`` once per cycle; ``low`` and ``high`` are the band of the moment.

    Attributes:
        tg_best: best goodput of a probe, requests per second in SLO, decaying.
    """

    def __init__(self, config: StateraConfig) -> None:
        self._config = config
        self._edge = config.u_high
        self._width = config.u_high - config.u_low
        self.tg_best = 0.0
        self._binding = False
        self._began_s = 0.0
        self._resting = False
        self._probe = 0
        self._sums: list[float] = []
        self._samples: list[float] = []

    @property
    def binding(self) -> bool:
        """Whether u_t is to follow the edge, up and down, and not just to stay in the band."""
        return self._binding

    @property
    def edge(self) -> float:
        """The upper edge without the probe's deviation."""
        return self._edge

    @property
    def high(self) -> float:
        if not self._binding or self._resting:
            return self._edge
        return self._edge + SIGNS[self._probe] * self._config.band_probe

    @property
    def low(self) -> float:
        if not self._binding:
            return self._edge - self._width
        return self.high - self._config.dead_band

    def observe(self, view: VShort, *, binding: bool) -> None:
        """``binding``: a control is below the engine's own limit."""
        config, was_binding = self._config, self._binding
        self._binding = binding and config.band_probe > 0 and view.goodput_per_s is not None
        into_s = view.at_s - self._began_s
        if not self._binding:
            return
        if not was_binding or into_s < 0:
            self._begin(view.at_s)
        elif self._resting:
            if into_s >= REST_S:
                self._begin(view.at_s)
        elif into_s >= config.band_probe_s:
            self._next_probe(view.at_s)
        elif into_s >= config.band_probe_s / 2 and view.goodput_per_s is not None:
            # What the latency window still held of the probe before has left it by now.
            self._samples.append(view.goodput_per_s)

    def _begin(self, at_s: float) -> None:
        self._began_s, self._resting, self._probe = at_s, False, 0
        self._sums, self._samples = [], []

    def _next_probe(self, at_s: float) -> None:
        if not self._samples:
            self._begin(at_s)
            return
        mean = sum(self._samples) / len(self._samples)
        decay = 0.5 ** (self._config.band_probe_s / BEST_HALF_LIFE_S)
        self.tg_best = max(mean, self.tg_best * decay)
        self._sums.append(SIGNS[self._probe] * mean)
        self._samples, self._began_s = [], at_s
        self._probe += 1
        if self._probe == len(SIGNS):
            gained = sum(self._sums) / 2
            self._begin(at_s)
            self._resting = abs(gained) <= NOISE * self.tg_best
            if not self._resting:
                self._move(gained)

    def _move(self, gained: float) -> None:
        """``gained``: goodput of the higher edge over that of the lower one."""
        config = self._config
        move = config.band_gain * gained / self.tg_best
        moved = self._edge + max(-MAX_MOVE, min(MAX_MOVE, move))
        self._edge = min(config.band_high, max(config.band_low, moved))
