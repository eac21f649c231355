"""Perception agent: what a request is, before it runs (paper 3.2)."""
