"""Agreement statistics: no input or output, no tool's name; NumPy and plain data."""
