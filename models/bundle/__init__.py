"""The bundle: format, writer, reader, versions."""
