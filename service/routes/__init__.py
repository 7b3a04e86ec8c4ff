"""What the service answers to: one module a group of paths."""
