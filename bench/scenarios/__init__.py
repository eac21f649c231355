"""The paper's workloads, each a function of seed, duration and data folder."""
