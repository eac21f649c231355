"""How settings come together: layers with their origin, errors that help, descriptions."""
