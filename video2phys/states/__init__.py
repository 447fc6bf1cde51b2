"""Where each body is, and how it is deformed, frame by frame, with a sigma."""
