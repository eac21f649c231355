"""How good the predictions are: output lengths with their bound, and costs on LLM-Pilot."""
