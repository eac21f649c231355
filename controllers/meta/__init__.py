"""The slow loop: Pi_meta, V_long -> (topology, hints, bypass) (paper 3.4.1, C)."""
