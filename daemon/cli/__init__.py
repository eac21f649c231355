"""The command line ``hmas``."""
