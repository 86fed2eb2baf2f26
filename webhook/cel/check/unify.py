"""Type assignability and unification of type parameters. Rules: cel-go."""

from __future__ import annotations

from webhook.cel.types import DYN, Type, TypeKind

_PARAMETRIC = (TypeKind.OPAQUE, TypeKind.LIST, TypeKind.MAP)
_LEGACY_NULLABLE = (TypeKind.OPAQUE, TypeKind.OBJECT, TypeKind.WELL_KNOWN, TypeKind.WRAPPER)


def is_dyn_or_error(t: Type) -> bool:
    """Whether anything goes with `t`."""
    return t.kind in (TypeKind.DYN, TypeKind.ERROR)


def less_specific(a: Type, b: Type) -> bool:
    """Whether `a` equals `b` or says less than it."""
    if a.kind in (TypeKind.DYN, TypeKind.PARAM):
        return True
    if b.kind in (TypeKind.DYN, TypeKind.PARAM) or a.kind is not b.kind:
        return False
    if a.kind in _PARAMETRIC:
        return a.name == b.name and len(a.params) == len(b.params) and all(map(less_specific, a.params, b.params))
    return a.kind is TypeKind.TYPE or a == b


def most_general(a: Type, b: Type) -> Type:
    """The one of the two that says less."""
    return a if less_specific(a, b) else b


def _one(a: Type, b: Type) -> bool:
    """Whether both are the same type. No type, which a field has that a JSONPatch has not, is not even itself."""
    return a == b and _named(a)


def _named(t: Type) -> bool:
    return bool(t.name) and all(map(_named, t.params))


class Substitution:
    """What each type parameter stands for so far. A failed question leaves no trace."""

    def __init__(self) -> None:
        self.bound: dict[Type, Type] = {}
        self._journal: list[tuple[Type, Type | None]] = []

    def bind(self, parameter: Type, to: Type) -> None:
        """Let `parameter` stand for `to`."""
        self._journal.append((parameter, self.bound.get(parameter)))
        self.bound[parameter] = to

    def assignable(self, a: Type, b: Type) -> bool:
        """Whether a value of type `a` may stand where `b` is wanted; binds parameters on success only."""
        return self.all_assignable((a,), (b,))

    def all_assignable(self, left: tuple[Type, ...], right: tuple[Type, ...]) -> bool:
        """The same for a list of arguments."""
        self._journal.clear()
        if self._list(left, right):
            return True
        for parameter, old in reversed(self._journal):
            if old is None:
                del self.bound[parameter]
            else:
                self.bound[parameter] = old
        return False

    def _list(self, left: tuple[Type, ...], right: tuple[Type, ...]) -> bool:
        return len(left) == len(right) and all(map(self._assignable, left, right))

    def _assignable(self, a: Type, b: Type) -> bool:
        if b.kind is TypeKind.PARAM:
            valid, known = self._substitutes(a, b)
            if valid or known:
                return valid
        if a.kind is TypeKind.PARAM:
            return self._substitutes(b, a)[0]
        if is_dyn_or_error(a) or is_dyn_or_error(b):
            return True
        if a.kind is TypeKind.NULL or b.kind is TypeKind.NULL:
            other = b if a.kind is TypeKind.NULL else a
            return other.kind is TypeKind.NULL or other.kind in _LEGACY_NULLABLE
        if a.kind in _PARAMETRIC:
            return a.kind is b.kind and a.name == b.name and self._list(a.params, b.params)
        if a.kind is TypeKind.TYPE:
            return b.kind is TypeKind.TYPE
        if TypeKind.WRAPPER in (a.kind, b.kind):
            return a.name == b.name
        return _one(a, b)

    def _substitutes(self, a: Type, parameter: Type) -> tuple[bool, bool]:
        """Whether `a` may stand for `parameter`, and whether that was settled before."""
        if a == parameter:
            return True, True
        held = self.bound.get(parameter)
        if held is None:
            if self._free_of(parameter, a):
                self.bind(parameter, a)
                return True, False
            return False, False
        if _one(a, held):
            return True, True
        if not self._assignable(a, held):
            return False, True
        general = most_general(a, held)
        if self._free_of(parameter, general):
            self.bind(parameter, general)
        return True, True

    def _free_of(self, parameter: Type, within: Type) -> bool:
        """Whether `parameter` does not occur in `within`."""
        if parameter == within:
            return False
        if within.kind is TypeKind.PARAM:
            held = self.bound.get(within)
            return held is None or self._free_of(parameter, held)
        return all(self._free_of(parameter, p) for p in within.params)

    def apply(self, t: Type, *, free_is_dyn: bool = False) -> Type:
        """`t` with its parameters replaced by what they stand for; those still free become dyn when asked."""
        while t.kind is TypeKind.PARAM:
            held = self.bound.get(t)
            if held is None:
                return DYN if free_is_dyn else t
            t = held
        if not t.params:
            return t
        return Type(t.name, tuple(self.apply(p, free_is_dyn=free_is_dyn) for p in t.params), t.kind)
