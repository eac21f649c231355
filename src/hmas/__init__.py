"""H-MAS: hierarchical multi-agent scheduling for multi-tenant LLM serving on vLLM."""

__version__ = "0.1.0"
