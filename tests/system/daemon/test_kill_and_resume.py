"""Kill -9 of the daemon under load: requests flow, the lease ends, a restart goes on."""

from __future__ import annotations

from tests.daemon.control.support import until
from tests.system.daemon.stack import Load, stack

TTL_S = "4"


async def test_no_request_fails_and_a_restart_resumes() -> None:
    async with stack(HMAS_CONTROL__TTL_S=TTL_S) as running:
        await running.start_engine()
        await running.start_daemon()
        await running.start_gateway()
        async with Load(running.gateway_url, clients=6).running() as load:
            pin = {"topology": "wfq", "reason": "kill test", "duration_s": 3600}
            await running.admin("POST", "/pins", pin)

            async def pinned() -> bool:
                active = (await running.engine()).active
                return active is not None and active.topology == "wfq"

            await until(pinned, "the pin at the engine", 60.0)
            await until(lambda: bool(running.errors_by_bucket()), "D_b in storage", 60.0)

            await running.kill("daemon")
            left = await running.engine()
            assert left.active is not None
            assert (left.active.topology, left.lease_expired) == ("wfq", False)
            before, served = running.errors_by_bucket(), load.whole

            async def expired() -> bool:
                return (await running.engine()).lease_expired

            await until(expired, "the lease ends", 60.0)
            await until(lambda: load.whole > served + 10, "requests still flow", 60.0)

            await running.start_daemon()

            async def resumed() -> bool:
                now = await running.engine()
                assert now.active is not None
                return not now.lease_expired and now.active.version > left.active.version

            await until(resumed, "a higher version after the restart", 60.0)
            assert await pinned()

            async def shown() -> bool:
                # The engine's own report of its bypass lags its directive by up to 50 ms.
                [engine] = (await running.admin("GET", "/status"))["engines"]
                assert engine["overrides"][0]["reason"] == "kill test"
                return (engine["owner"], engine["bypass"]) == ("pin", False)

            await until(shown, "the pin is shown as in force", 60.0)
            await until(
                lambda: starts_with(running.errors_by_bucket(), before), "D_b goes on", 60.0
            )
        assert load.failures == {}
        assert load.whole > 20


def starts_with(after: dict[int, list[float]], before: dict[int, list[float]]) -> bool:
    """Whether every bucket still holds what it held, followed by more in one of them."""
    kept = all(after.get(bucket, [])[: len(old)] == old for bucket, old in before.items())
    return kept and sum(map(len, after.values())) > sum(map(len, before.values()))
