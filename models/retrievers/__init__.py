"""One file a retriever (or a family that shares its maths); none imports another."""
