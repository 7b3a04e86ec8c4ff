"""What a data set rewards before anything is trained on it, and what to start with."""
