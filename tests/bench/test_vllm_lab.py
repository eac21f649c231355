"""The lab makes schedulers that behave, and models that answer alike whatever the batch."""

from __future__ import annotations

import pytest

from tests.system.vllm.environment import run_program

pytestmark = pytest.mark.vllm

PROGRAM = """
import json
from vllm.v1.core.sched.scheduler import Scheduler
from hmas.bench.vllm_lab import Engine, make_request, make_scheduler, model_output, token_of

answers = []
for batch in (8, 64):
    engine = Engine(max_num_seqs=8, max_num_batched_tokens=batch)
    scheduler = make_scheduler(Scheduler, engine)
    for number in range(3):
        prompt = list(range(1, 20 + number))
        scheduler.add_request(make_request(f"r{number}", prompt, 4 + number, block_size=16))
    told = {}
    while scheduler.has_requests():
        output = scheduler.schedule()
        answer = model_output(output, scheduler)
        for batch in scheduler.update_from_output(output, answer).values():
            for out in batch.outputs:
                told.setdefault(out.request_id, []).extend(out.new_token_ids)
    answers.append(told)
expected = {f"r{n}": [token_of(f"r{n}", at) for at in range(4 + n)] for n in range(3)}
print(json.dumps({"alike": answers[0] == answers[1], "whole": answers[0] == expected}))
"""


def test_answers_are_whole_and_do_not_depend_on_the_batch() -> None:
    assert run_program("-c", PROGRAM) == {"alike": True, "whole": True}
