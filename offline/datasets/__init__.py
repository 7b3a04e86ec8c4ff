"""Published data sets: their original raw files in, our two input files and a report out."""
