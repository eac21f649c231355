"""What bounds the harm of a wrong decision: bypass, rollback, precedence (paper C.2)."""
