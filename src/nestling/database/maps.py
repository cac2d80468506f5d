"""The names of the parts of a snapshot."""

from __future__ import annotations

from hashlib import blake2b

from nestling.database.bulk import identity
from nestling.program.statements import MapDecl

TABLE, MAP, MADE, WAITING, LATER = "table ", "map ", "made ", "waiting ", "later "
#: The number of the next label without a key.
NEXT = "next label"


def map_name(decl: MapDecl) -> str:
    """A name that depends on what the map holds, and not on how it is called."""
    return MAP + blake2b(repr(identity(decl)).encode(), digest_size=16).hexdigest()
