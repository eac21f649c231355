"""The data path: an OpenAI-compatible streaming proxy that tags what passes."""
