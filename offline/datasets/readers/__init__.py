"""One reader a publisher's format: raw files in, the tables `interactions` and `items` of the workspace out.

A reader only parses. What is left out after that (cores, thresholds, truncation) stands as steps in the registry.
"""
