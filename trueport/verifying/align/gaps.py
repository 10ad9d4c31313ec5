"""Parts of the source's graph between known values and one that is asked for."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trueport.reference.walk import Place

__all__ = ["Gap", "Gaps"]


@dataclass(frozen=True)
class Gap:
    """Places in the order in which they run, and the values that they begin with."""

    places: tuple[Place, ...]
    frontier: tuple[str, ...]


class Gaps:
    """The source's graph, asked backward."""

    def __init__(self, places: Sequence[Place], inputs: Collection[str]) -> None:
        self._makers = {name: place for place in places for name in place.makes if name}
        self._order = {place: index for index, place in enumerate(places)}
        self._inputs = set(inputs)

    def maker(self, name: str) -> Place:
        """The place that makes a value."""
        return self._makers[name]

    def is_made(self, name: str) -> bool:
        """Whether a value is made by a place; the model's inputs are not."""
        return name in self._makers

    def before(self, name: str, known: Collection[str]) -> Gap:
        """What makes a value out of known ones, and of the model's inputs."""
        places: set[Place] = set()
        frontier: dict[str, None] = {}
        waiting = [self._makers[name]]
        while waiting:
            place = waiting.pop()
            if place in places:
                continue
            places.add(place)
            for read in place.reads:
                if read in known or read in self._inputs:
                    frontier[read] = None
                else:
                    waiting.append(self._makers[read])
        return Gap(tuple(sorted(places, key=self._order.__getitem__)), tuple(frontier))

    def behind(self, names: Collection[str]) -> set[Place]:
        """All places that some values depend on."""
        found: set[Place] = set()
        waiting = [self._makers[name] for name in names if name in self._makers]
        while waiting:
            place = waiting.pop()
            if place not in found:
                found.add(place)
                waiting += [self._makers[read] for read in place.reads if read in self._makers]
        return found
