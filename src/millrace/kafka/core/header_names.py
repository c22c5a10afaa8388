"""Headers by which a producer numbers its messages, as text in UTF-8.

A name, a number that grows with each of its starts, and a number that grows by one with each
message: verify finds by them what is missing, and duplicates are recognised by them.
"""

PRODUCER, EPOCH, SEQUENCE = "millrace-producer", "millrace-epoch", "millrace-seq"
