"""Processes under supervision: by systemd, or by ``hmas up``."""
