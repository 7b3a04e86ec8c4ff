"""Documents laid out as pages: which figures and tables, in which order, with which words."""
