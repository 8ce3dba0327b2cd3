"""What stands where in a family's file: its tables' places, the words of their entries, and what these mean."""
from __future__ import annotations

MEMBERS, BLOCKS = 512, 1 << 19
MEMBER_TABLE, RECORDS, HOLDS, DATA = 4096, 1 << 20, 1 << 26, 1 << 30
TABLES = HOLDS + MEMBERS * BLOCKS
SEGMENT = 1 << 26                                        # bytes that a member takes at once, for small blocks
BACKED = 1 << 16                                         # bytes of it that get memory at once
LARGE = 1 << 22                                          # bytes; larger blocks have a piece of the file to themselves

# words of the header
NEXT_PLACE, NEXT_ID = 1, 2
# words of a record
KIND, PLACE, CAPACITY, GENERATION, OWNER, IN_SEGMENT, NEXT, SEQUENCE = range(8)
FIRST, LAST, MOST_LETTERS, PENDING = PLACE, CAPACITY, IN_SEGMENT, NEXT         # of a channel's
DROPPED = SEQUENCE                                       # of a block's that waits: when it was dropped, in milliseconds
# what a record is of; GONE: its owner is giving the memory back; WAITING: nobody holds it, and its owner may take it again
FREE, RESERVED, BLOCK, CHANNEL, SEGMENTS, GONE, WAITING = range(7)
ORPHAN = -1                                              # the owner of what a dead member owned
# in place of a segment's number, of large blocks: one by itself, and one of those that its owner takes again and again
ALONE, AGAIN = 0, -1
# words of a member's entry
IN_USE, PROCESS, SINCE, BIRTH = range(4)
