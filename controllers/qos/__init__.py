"""The QoS agent: events in, V_short and V_long out (paper 3.3)."""

from hmas.controllers.qos.agent import Learning, QosAgent

__all__ = ["Learning", "QosAgent"]
