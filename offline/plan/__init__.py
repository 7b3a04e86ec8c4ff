"""How much of everything a shop needs, from constants that were measured."""
