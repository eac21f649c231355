"""The engine's end of the control link: directives in, events out."""
