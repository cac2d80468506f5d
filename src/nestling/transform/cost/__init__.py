"""What a program is expected to cost, in operations and bytes, from statistics of its tables.

Law: the estimate of a projection of one table, from counted rows, is what there is. What a query costs by the theorem
of the paper is ``transform/theory/cost``.
"""
