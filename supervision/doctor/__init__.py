"""The checks of `troupe doctor`, one subject a file, each with its findings and their cures."""
