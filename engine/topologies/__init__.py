"""Ω: the pool of queue topologies, one small class each, and the registry."""
