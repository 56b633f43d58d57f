"""The settings from the command line, the environment and a file, and the parts that they name."""
