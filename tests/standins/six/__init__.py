"""What is in it of urllib."""
