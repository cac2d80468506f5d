"""What the soak asks for; each is off only while the library does not promise it yet."""

SPECIALS = True  # NaN and infinities among floats
EXACT = True  # sums of floats and of long decimals with all their digits
INTERRUPTS = True  # old or new after whatever is raised
THREADS = True  # any thread may read and write
EVERY_LINE = True  # a change cut off at any line is old or new, for good
