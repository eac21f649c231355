"""The closed loop: hear engines, let the controllers decide, act in one place."""
