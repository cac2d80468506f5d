"""Where state is kept: ordered maps in memory, and files that survive the process."""
