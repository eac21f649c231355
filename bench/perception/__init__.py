"""How well and how fast perception names the task: ``python -m hmas.bench.perception``."""
