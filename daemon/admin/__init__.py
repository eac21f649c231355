"""The admin API: FastAPI over a port that the daemon implements."""
