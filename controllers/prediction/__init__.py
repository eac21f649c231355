"""Prediction agent: what a request will cost (paper 3.2)."""
