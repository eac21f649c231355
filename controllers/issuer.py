"""When a new directive is due: versions, quantised changes, refusals, restarts of the engine."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from hmas.engine.directive import Controls, Directive, DirectiveReply, Hints

SOFT_REFRESH_S: Final = 5.0
"""Fence and step model drift with every request; they alone renew a directive this often."""

FENCE_CHANGE: Final = 0.1
FENCE_TOKENS: Final = 16


class Content(NamedTuple):
    """A directive without its number and date."""

    topology: str
    hints: Hints
    bypass: bool
    controls: Controls


class Refused(NamedTuple):
    """What the engine would not take, why, and until when it is not asked again."""

    content: Content
    reason: str
    until_s: float


class Issuer:
    """Issues directives with strictly increasing versions and follows their fate."""

    def __init__(self, engine_id: str, ttl_s: float, retry_s: float, version: int) -> None:
        self._engine_id = engine_id
        self._ttl_s = ttl_s
        self._retry_s = retry_s
        self.version = version
        self.active: Directive | None = None
        """Newest directive that was not refused: what a renewal repeats."""
        self.acknowledged: Directive | None = None
        self.refused: Refused | None = None

    def issue(self, content: Content, cause: str, now_s: float) -> Directive | None:
        """A new directive, or None where the active one still says it all."""
        if self._withheld(content, now_s) or not self._due(content, now_s):
            return None
        self.version += 1
        self.active = Directive(
            engine_id=self._engine_id,
            version=self.version,
            issued_at_s=now_s,
            ttl_s=self._ttl_s,
            topology=content.topology,
            hints=content.hints,
            bypass=content.bypass,
            controls=content.controls,
            cause=cause,
        )
        return self.active

    def acknowledge(self, directive: Directive, reply: DirectiveReply, now_s: float) -> str:
        """Take the engine's answer in; a non-empty result says what went wrong."""
        self.version = max(self.version, reply.active_version)
        if not reply.accepted:
            self.refused = Refused(_content(directive), reply.reason, now_s + self._retry_s)
            self.active = self.acknowledged
            return f"engine refused version {directive.version}: {reply.reason}"
        if reply.active_version != directive.version:
            self.restart(reply.active_version)
            return f"engine runs version {reply.active_version}, not {directive.version}"
        if directive != self.acknowledged:
            self.acknowledged, self.refused = directive, None
        return ""

    def restart(self, engine_version: int) -> None:
        """The engine does not know our directives (any more): issue anew."""
        self.version = max(self.version, engine_version)
        self.active = self.acknowledged = None

    def _withheld(self, content: Content, now_s: float) -> bool:
        refused = self.refused
        if refused is None or now_s >= refused.until_s:
            return False
        return _bare(refused.content) == _bare(content)

    def _due(self, content: Content, now_s: float) -> bool:
        if self.active is None:
            return True
        active = _content(self.active)
        if _hard(content) != _hard(active):
            return True
        old_enough = now_s - self.active.issued_at_s >= SOFT_REFRESH_S
        return old_enough and _soft_change(active.controls, content.controls)


def _content(directive: Directive) -> Content:
    return Content(directive.topology, directive.hints, directive.bypass, directive.controls)


def _bare(content: Content) -> Content:
    """Without what drifts by itself."""
    controls = msgspec.structs.replace(content.controls, fence=None, step_model=None)
    return content._replace(controls=controls)


def _hard(content: Content) -> tuple[Content, bool, bool]:
    """What takes effect at once when it changes."""
    controls = content.controls
    return _bare(content), controls.fence is not None, controls.step_model is not None


def _soft_change(old: Controls, new: Controls) -> bool:
    if old.step_model != new.step_model:
        return True
    before, after = old.fence or {}, new.fence or {}
    return any(
        abs(tokens - before.get(bucket, 0)) > max(FENCE_TOKENS, FENCE_CHANGE * abs(tokens))
        for bucket, tokens in after.items()
    )
