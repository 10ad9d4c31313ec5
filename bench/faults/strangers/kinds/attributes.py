"""Attributes: by their type in the schema, off by one, another legal value, the default, in another order."""

from __future__ import annotations

import functools

import numpy as np

from bench.faults.strangers.kind import Change, Collector, name_words
from bench.faults.strangers.schemas import FLAGS, LEGAL, TYPE_CODES, attributes_of, operators_with_attribute
from bench.faults.strangers.site import Site

__all__ = ["KINDS"]

_collect = Collector()

_ALL_FLAGS = frozenset(name for names in FLAGS.values() for name in names)
_STRUCTURAL = frozenset({"num_outputs", "num_scan_inputs", "hidden_size", "n_supports"})
"""Must fit the number of outputs or the size of weights; some kernels end the process where they do not."""
_UNCOUNTED = TYPE_CODES | _ALL_FLAGS | _STRUCTURAL | {"noop_with_empty_axes", "training_mode", "axis"}


def _changed(name: str, old: object, new: object) -> Change:
    return Change(f"{name}: {old!r} becomes {new!r}", name_words(name))


def _is_count(name: str) -> bool:
    return name not in _UNCOUNTED


def _integers(site: Site) -> list[tuple[str, int]]:
    """Return integer attributes that count something and have a value."""
    names = [name for name in attributes_of(site.schema, "INT") if _is_count(name)]
    return [(name, value) for name in names if (value := site.attribute(name)) is not None]


_COUNTED = operators_with_attribute("INT", _is_count)


def _shift_integer(site: Site, by: int) -> Change | None:
    chosen = site.pick(_integers(site))
    if chosen is None:
        return None
    name, value = chosen
    site.set_attribute(name, value + by)
    return _changed(name, value, value + by)


_collect.add("integer_attribute_plus_one", _COUNTED, functools.partial(_shift_integer, by=1))
_collect.add("integer_attribute_minus_one", _COUNTED, functools.partial(_shift_integer, by=-1))


@_collect("integer_attribute_doubled_or_halved", _COUNTED)
def scale_integer(site: Site) -> Change | None:
    chosen = site.pick([(name, value) for name, value in _integers(site) if value > 0])
    if chosen is None:
        return None
    name, value = chosen
    new = value // 2 if value % 2 == 0 and site.rng.random() < 0.5 else value * 2
    site.set_attribute(name, new)
    return _changed(name, value, new)


def _flip(site: Site, names: tuple[str, ...]) -> Change | None:
    known = [name for name in attributes_of(site.schema, "INT") if name in names]
    name = site.pick(known)
    if name is None:
        return None
    value = site.attribute(name) or 0
    site.set_attribute(name, 1 - value)
    return _changed(name, value, 1 - value)


for _about, _names in FLAGS.items():
    _collect.add(
        f"flag_{_about}_flipped",
        operators_with_attribute("INT", _names.__contains__),
        functools.partial(_flip, names=_names),
    )


def _another_value(site: Site, name: str) -> Change | None:
    legal = LEGAL[name].get(site.op, ())
    value = site.attribute(name)
    old = value.decode() if isinstance(value, bytes) else value
    if old not in legal:
        return None
    new = site.pick([item for item in legal if item != old])
    site.set_attribute(name, new)
    return Change(f"{name}: {old!r} becomes {new!r}", (*name_words(name), *name_words(new if new != "none" else "")))


for _name, _by_operator in LEGAL.items():
    _collect.add(f"string_{_name}_changed", _by_operator, functools.partial(_another_value, name=_name))


_REAL = operators_with_attribute("FLOAT")


def _reals(site: Site) -> list[tuple[str, float]]:
    names = attributes_of(site.schema, "FLOAT")
    if site.schema is None:  # an operator of another domain: what the node has
        names = [item.name for item in site.node.attribute if item.type == item.FLOAT]
    return [(name, value) for name in names if name != "epsilon" and (value := site.attribute(name)) is not None]


def _scale_real(site: Site, factor: float) -> Change | None:
    chosen = site.pick([(name, value) for name, value in _reals(site) if value])
    if chosen is None:
        return None
    name, value = chosen
    site.set_attribute(name, float(value * factor))
    return _changed(name, value, value * factor)


_collect.add("float_attribute_scaled", _REAL, functools.partial(_scale_real, factor=1.5))
_collect.add("float_attribute_off_by_a_little", _REAL, functools.partial(_scale_real, factor=1.01))
_collect.add("float_attribute_sign_flipped", _REAL, functools.partial(_scale_real, factor=-1.0))


@_collect("float_attribute_dropped", _REAL)
def drop_real(site: Site) -> Change | None:
    """Leave out an attribute that has a default: what an exporter writes that believes in another default."""
    given = {item.name for item in site.node.attribute}
    schema = site.schema
    names = [name for name, _ in _reals(site) if name in given and schema and not schema.attributes[name].required]
    name = site.pick(names)
    if name is None:
        return None
    old = site.attribute(name)
    site.drop_attribute(name)
    return _changed(name, old, site.attribute(name))


@_collect("epsilon_changed", operators_with_attribute("FLOAT", "epsilon".__eq__))
def change_epsilon(site: Site) -> Change | None:
    """Another framework's default of epsilon."""
    old = float(site.attribute("epsilon"))
    new = site.pick([value for value in (1e-12, 1e-8, 1e-6, 1e-5, 1e-3, 1e-2) if not np.isclose(value, old, rtol=0.1)])
    site.set_attribute("epsilon", new)
    return Change(f"epsilon: {old} becomes {new}", name_words("epsilon", "eps"))


_LISTED = operators_with_attribute("INTS")


def _lists(site: Site, kind: str) -> list[tuple[str, list[float]]]:
    return [(name, list(value)) for name in attributes_of(site.schema, kind) if (value := site.attribute(name))]


@_collect("integer_list_permuted", _LISTED)
def permute_integers(site: Site) -> Change | None:
    return _permute(site, _lists(site, "INTS"))


@_collect("float_list_permuted", operators_with_attribute("FLOATS"))
def permute_floats(site: Site) -> Change | None:
    return _permute(site, _lists(site, "FLOATS"))


def _permute(site: Site, lists: list[tuple[str, list[float]]]) -> Change | None:
    """Exchange two entries that differ."""
    chosen = site.pick([(name, items) for name, items in lists if len(set(items)) > 1])
    if chosen is None:
        return None
    name, items = chosen
    i, j = site.pick([(i, j) for i in range(len(items)) for j in range(i) if items[i] != items[j]])
    new = list(items)
    new[i], new[j] = new[j], new[i]
    site.set_attribute(name, new)
    return _changed(name, items, new)


@_collect("integer_list_entry_changed", _LISTED)
def change_integer_entry(site: Site) -> Change | None:
    chosen = site.pick([item for item in _lists(site, "INTS") if item[0] != "perm"])
    if chosen is None:
        return None
    name, items = chosen
    new, at = list(items), int(site.rng.integers(len(items)))
    new[at] += 1 if new[at] <= 1 else int(site.pick([-1, 1]))
    site.set_attribute(name, new)
    return _changed(name, items, new)


@_collect("float_list_entry_changed", operators_with_attribute("FLOATS"))
def change_float_entry(site: Site) -> Change | None:
    chosen = site.pick(_lists(site, "FLOATS"))
    if chosen is None:
        return None
    name, items = chosen
    new, at = list(items), int(site.rng.integers(len(items)))
    new[at] = float(new[at] * site.pick([-1.0, 1.1, 1.5]) or 0.25)
    site.set_attribute(name, new)
    return _changed(name, items, new)


@_collect("list_attribute_dropped", _LISTED)
def drop_list(site: Site) -> Change | None:
    given = {item.name for item in site.node.attribute}
    schema = site.schema
    names = [n for n, _ in _lists(site, "INTS") if n in given and schema and not schema.attributes[n].required]
    name = site.pick(names)
    if name is None:
        return None
    old = site.attribute(name)
    site.drop_attribute(name)
    return _changed(name, old, None)


@_collect("text_list_permuted", operators_with_attribute("STRINGS", lambda name: name != "activations"))
def permute_texts(site: Site) -> Change | None:
    return _permute(site, _lists(site, "STRINGS"))


def _move_axis(site: Site, equal: bool) -> Change | None:
    """Let ``axis`` name another axis, of equal or of other size; which operators have one the schemas tell."""
    value, tensor = site.attribute("axis"), site.input(0)
    if value is None or tensor is None or tensor.shape is None or not tensor.shape:
        return None
    rank = len(tensor.shape)
    size = tensor.shape[value % rank] if -rank <= value < rank else None
    others = [axis for axis in range(rank) if axis != value % rank and (tensor.shape[axis] == size) == equal]
    new = site.pick(others)
    if new is None:
        return None
    new = new - rank if value < 0 else new
    site.set_attribute("axis", new)
    return _changed("axis", value, new)


_ON_AXIS = operators_with_attribute("INT", "axis".__eq__)
_collect.add("axis_of_equal_size", _ON_AXIS, functools.partial(_move_axis, equal=True))
_collect.add("axis_of_other_size", _ON_AXIS, functools.partial(_move_axis, equal=False))

KINDS = _collect.kinds
