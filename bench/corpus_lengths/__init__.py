"""Public sets with real output lengths, read the same way: prompt (or its length) and tokens."""
