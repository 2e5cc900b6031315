"""What an argument may be, said once in the signature that takes it: settings files are read by the same words."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Le, Len, Lt, MinLen


@dataclass(frozen=True, eq=False)
class OneOf:
    """A name out of a registry; one that is registered later counts as well."""

    names: Collection[str]


Count = Annotated[int, Gt(0), Le(10**9)]
CountOrNone = Annotated[int, Ge(0), Le(10**9)]                                     # none of them is fine, too
Sizes = Annotated[Sequence[Count], MinLen(1)]
Pair = Annotated[Sequence[str], Len(2, 2)]
Share = Annotated[float, Ge(0), Le(1)]
PartOf = Annotated[float, Gt(0), Le(1)]
Damping = Annotated[float, Ge(0), Lt(1)]                                   # share of the old value that is kept
Inside = Annotated[float, Gt(0), Lt(1)]
Rate = Annotated[float, Gt(0)]
NotNegative = Annotated[float, Ge(0)]
