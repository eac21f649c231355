"""Prompts with their task type, from public data and from templates of our own."""
