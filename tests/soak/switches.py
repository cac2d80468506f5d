"""What the soak asks for; each is off only while the library does not promise it yet."""

SPECIALS = False  # NaN and infinities among floats
EXACT = False  # sums of floats and of long decimals with all their digits
REFERENCES = False  # a row that is referred to stays
INTERRUPTS = False  # old or new after whatever is raised
THREADS = False  # any thread may read and write
