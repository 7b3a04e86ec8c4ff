"""Both papers redone on the user's own files: their figures beside ours, and why they differ."""
