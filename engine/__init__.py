"""The execution layer: what runs inside, or in place of, a serving engine.

Imports nothing of ours and nothing that a bare vLLM environment lacks (``msgspec``,
``pyzmq`` and, in the simulator, NumPy and aiohttp are in every vLLM installation).
"""
