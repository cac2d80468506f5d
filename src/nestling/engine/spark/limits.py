"""All limits of the engine and the database on Spark, with their units.

Callers read them as ``limits.NAME`` when they need one, so that a test can set a small one.
"""

# What the driver does without a Spark job. A value of a row group that is not cached takes 55 ns, all that is done with
# it included (578 groups of 17,700 values: 0.58 s of CPU).

#: Stored values that the statements of one stage may scan on the driver: 0.9 s. Defining a view over a fifth as many
#: took a query of Spark 1.7 s.
MAX_DRIVER_VALUES = 16_000_000
#: How many times as many it may read to look up keys: by Spark the look-ups of a change together take some ten jobs.
#: For 100 random orders of 1.5 million with their items these took 20 s of CPU; to read all groups takes 3 s.
LOOKUP_FACTOR = 6
#: Rows of which a view is defined by the driver; changed rows of a map that it passes on; keys that it may look up.
MAX_DRIVER_ROWS = 60_000
#: How many times as many changed rows its statements may start from: for two statements on 120,000 items a query of
#: Spark took 6 to 9 s of CPU, the driver 3.
CHANGE_FACTOR = 4
#: Changed rows from which on Arrow runs the statements that it can.
MIN_JOINED_ROWS = 2_000
#: Entries that one look-up on the driver may find; beyond, Spark runs the stage.
MAX_LOOKUP_ENTRIES = 200_000
#: Bytes of row groups that the driver caches.
MAX_CACHED_BYTES = 256_000_000
#: Rows that were found in files, and keys that were not, which the driver remembers.
MAX_REMEMBERED_ROWS = 150_000
#: Files of which the driver caches the footers.
MAX_CACHED_FOOTERS = 1000
#: Rows per key that is looked up from which on bisection is faster than a scan of the column.
MIN_ROWS_PER_BISECTED_KEY = 16

#: Tasks of a stage of a small batch, at most.
MAX_SMALL_TASKS = 8

# How Spark's queries are planned. Defining a view over 150,000 orders with 600,000 items took 3.2 s of CPU with the
# plans that Spark makes and adapts, and 1.7 s with these.

#: Rows for which a shuffle has one task, beside the few that it has at least.
ROWS_PER_TASK = 500_000
#: Rows of what is read, of tables and of a change, up to which plans are ours; beyond they are as the user has them.
MAX_PLANNED_ROWS = 50_000_000
#: Rows of the smaller side of a join of whole tables up to which it is sent to all tasks; beyond, both are shuffled.
MAX_SENT_ROWS = 500_000
#: Bytes that a row has in files, on average, up to which it is one of those; Spark plans by itself what is wider.
MAX_SENT_ROW_BYTES = 64

# What comes to the driver.

#: Rows of a change up to which the driver checks and shreds it, as one transaction; Spark does so with a larger one.
MAX_TRANSACTION_ROWS = 15_000
#: Over large tables it is one row for so many stored ones, up to ``TRANSACTION_FACTOR`` times as many: Spark goes
#: through all of these. Of 1.5 million orders with their 6 million items 15,000 took the driver 10 s of CPU; 40,000
#: took Spark 66.
STORED_PER_TRANSACTION_ROW = 250
TRANSACTION_FACTOR = 2
#: Rows of a change up to which what Spark shreds them to comes to the driver, to be applied there: by one query for
#: all views, where rows in files take one for each map and table.
MAX_FETCHED_ROWS = 250_000
#: Bytes of these, by what the first ones take: nested rows come as they are where they are no more.
MAX_FETCHED_BYTES = 200_000_000
#: Rows of flat tables in a batch up to which its results come to the driver; those of a larger one stay in files. By
#: Arrow 1.5 million rows of five columns take 150 MB.
MAX_COLLECTED_ROWS = 1_500_000
#: Rows of a result that one task may find for the driver; beyond, the batch runs again, to files.
MAX_ROWS_PER_TASK = 500_000
#: Rows that break a constraint, as many as an error message has.
MAX_OFFENDING_ROWS = 1000
#: Keys of one table that a transaction may have looked up; beyond, it forgets them and looks up anew.
MAX_REMEMBERED_KEYS = 200_000
#: Distinct values of a change that a query is given as ``IN``; beyond, as a range.
MAX_IN_VALUES = 100

#: Recent rows of one source that published names see as part of a change; more get a name of their own.
MAX_NEWEST_ROWS = 500
#: Rows of a change up to which its keys are broadcast to all tasks; beyond, Spark shuffles to join.
MAX_BROADCAST_ROWS = 1_000_000

# What a large change costs, in microseconds of CPU. Triggers or recomputation is chosen by these (``choice``). Measured
# over 150,000 orders with 600,000 items and 15,000 customers and four views with nine statements: executors' time of
# stages where Spark runs them.

#: A changed row, for each statement on it that the driver runs, look-ups included: 244,000 of both took 2.9 s.
DRIVEN_ROW_COST = 12.0
#: The same by Spark: 660,000 of both took 2.0 s, together with the next.
CHANGED_ROW_COST = 2.2
#: A stored row of what a statement of Spark meets: all are scanned, and few found.
MET_ROW_COST = 0.35
#: A stored row of a table from which a map is computed anew: 765,000 took a sum by groups 0.6 s.
RECOMPUTED_ROW_COST = 0.8
#: A row of a map that is computed anew, which is sorted and written: 150,000 of them in groups of 10 took 0.7 s.
WRITTEN_ROW_COST = 4.0
#: A query that computes a map, whatever it reads: plans, code, and Java's compiler, which works for it.
QUERY_COST = 1_000_000

# Files.

#: Rows of a sorted file that Spark writes, about.
ROWS_PER_FILE = 2_000_000
#: Bytes of what came for which there is one file of each flat table: what Spark reads by one task. To sort into several
#: shuffles all rows and computes them twice: 1.5 million orders (65 MB) then took 4.5 times a sorted write, a tenth of
#: them, in one file, two to three times one.
BYTES_PER_FILE = 128_000_000

#: Epochs in the log from which on it is flushed to files.
MAX_LOG_EPOCHS = 64
#: Recent rows of one source from which on the log is flushed to files.
MAX_RECENT_ROWS = 20_000
#: Runs of changes of about one size from which on they are merged with one another: 2 or more.
TIER_RUNS = 8
#: Bytes that a run is taken to have at least.
MIN_RUN_BYTES = 4_000
#: Changes are merged into the base when they have more rows than this part of it: a sixth. So a row is written seven
#: times by that, and three times before.
BASE_SHARE = 6
#: Rows of changes that never make it worth while to write a base anew.
MIN_COMPACTED_ROWS = 100_000
#: Rows that are merged after one change, before it returns; larger merges run beside the changes to come.
MAX_MERGED_ROWS = 100_000
#: Rows that Arrow merges in this process; Spark merges more.
MAX_ARROW_ROWS = 2_000_000
#: Runs of one source beyond which a change waits for the merge that runs beside it.
MAX_RUNS = 64
#: Bytes of a row group before it is compressed: the least that a look-up by key reads. 100 random keys meet most groups
#: of 6 million rows where these have 2 MB (102 groups).
ROW_GROUP_BYTES = 250_000
#: Seconds to wait for the number of written rows, which Spark reports after a query.
METRIC_SECONDS = 60
#: Tasks that probe whether driver and executors share a folder: the number of executors, within these.
MIN_PROBE_TASKS, MAX_PROBE_TASKS = 2, 32

# Numbers.

#: The range of Spark's BIGINT.
MIN_INT64, MAX_INT64 = -(2**63), 2**63 - 1
#: What a DECIMAL(37,18) stays below.
END_DECIMAL = 10**19
