"""What the motion says about the interior."""
