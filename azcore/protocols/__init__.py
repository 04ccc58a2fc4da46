"""What programs say to each other: servers that make a checkpoint an engine for any GUI."""
