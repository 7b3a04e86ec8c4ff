"""The parent process: embedded Redis, GR worker and API processes, kept alive, drained and measured together."""
