"""From ranked lists to documents: the measures applied, no files read."""
