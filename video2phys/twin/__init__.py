"""Files that a simulator loads, checked in it, and the report."""
