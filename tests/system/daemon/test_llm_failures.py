"""Whatever the LLM does: a recorded refusal, the rules decide, no directive is invalid."""

from __future__ import annotations

from collections import deque
from typing import Any

from hmas.bench.scripted_llm import Failure, ScriptedLlm, answer, served
from tests.daemon.control.support import until
from tests.system.daemon.stack import MODEL, Load, stack


async def test_every_failure_is_recorded_and_the_rules_decide() -> None:
    llm = ScriptedLlm(otherwise=answer("sjf", reason="length variance"))
    llm.script = deque(Failure)
    async with (
        served(llm) as url,
        stack(
            HMAS_META__PRIMARY="llm",
            HMAS_META__LLM__BASE_URL=url,
            HMAS_META__LLM__MODEL=MODEL,
            HMAS_META__LLM__TIMEOUT_S="2",
            HMAS_META__LLM__ATTEMPTS="1",
            HMAS_CONTROL__VIEWS__LONG_WINDOW_S="1",
            HMAS_CONTROL__META_S="1",
            HMAS_CONTROL__FIRST_META_S="1",
        ) as running,
    ):
        await running.start_engine()
        await running.start_daemon()
        await running.start_gateway()
        async with Load(running.gateway_url, clients=4).running() as load:
            await until(lambda: len(llm.asked) > len(Failure) + 1, "all of them happened", 120.0)

            async def decided() -> bool:
                rows = await decisions()
                return any(row["source"] == "llm" for row in rows)

            async def decisions() -> list[dict[str, Any]]:
                rows: list[dict[str, Any]] = await running.admin("GET", "/decisions?limit=200")
                return rows

            await until(decided, "a valid answer decides", 60.0)
            rows = await decisions()
        refusals = [refusal_of(row) for row in rows if refusal_of(row)]
        assert len(refusals) >= len(Failure)
        assert all(kind and detail for kind, detail in refusals)
        refused = [row for row in rows if refusal_of(row)]
        assert {row["source"] for row in refused} <= {"rules", "hold"}
        directives = await running.admin("GET", "/directives?limit=500")
        assert {row["ack"] for row in directives} <= {"ack", "pending"}
        health = await running.admin("GET", "/health")
        assert health["llm"]["refusals"] >= len(Failure)
        assert health["llm"]["answers"] >= 1
        assert load.failures == {}


def refusal_of(row: dict[str, Any]) -> tuple[str, str] | None:
    for proposal in row["proposals"]:
        if proposal["source"] == "llm" and proposal["refusal"]:
            return proposal["refusal"]["kind"], proposal["refusal"]["detail"]
    return None
