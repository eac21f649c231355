"""Models out of data: what ``hmas train`` does."""
