"""Prompt templates, each with a header, and how they are loaded, checked and rendered."""
