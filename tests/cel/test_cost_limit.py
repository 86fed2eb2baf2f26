"""The cost of every row, and where its limit is passed, are those of the API server, in whichever form we evaluate."""

import shutil

import pytest

from tests.cel.priced import Case, cases, fast, program
from tests.controlplane.oracle import ask_all
from webhook import cel
from webhook.cel.batch import encode
from webhook.cel.errors import EXCEEDED
from webhook.cel.types import BYTES, INT, STRING, TypeKind, list_of

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="the oracle is a Go program, and there is no go")
LIMIT = 1_000_000
SIZES = (0, 1, 13, 300)
PAD = {"pa": STRING, "pb": STRING, "pn": INT}


def spelled(t):
    """A type as a row of the oracle spells it."""
    if t.kind is TypeKind.LIST:
        return {"list": spelled(t.params[0])}
    return {"map": [spelled(p) for p in t.params]} if t.kind is TypeKind.MAP else t.name


def row(case, values):
    """A question to the oracle."""
    declared = [{"name": name, "type": spelled(t)} for name, t in case.variables.items()]
    tagged = {name: encode(value) for name, value in values.items()}
    return {"id": case.name, "expr": case.text, "type_env": declared, "vars": tagged}


def ask(questions):
    """The oracle's answers to pairs of a case and values."""
    return ask_all([row(case, values) for case, values in questions])


def crashed(answer):
    """Whether cel-go itself failed: what it counted then says nothing."""
    return answer["stage"] != "run" or str(answer.get("error")).startswith("internal error")


def spent(case, values):
    """What an evaluation costs us."""
    made = program(case)
    return None if made is None else made.spent(tuple(values[name] for name in made.names))


def sized(sizes):
    """Every case at every size, once where its variables have none."""
    for case in cases():
        yield from {str(values): (case, values) for values in map(case.values, sizes)}.values()


def forms(case):
    """A case, and the same with variables of which nothing is known; what compiles of the two."""
    both = (case, case.untyped()) if case.variables else (case,)
    return [form for form in both if program(form) is not None]


def test_cost_is_the_api_servers():
    """Every row and operator costs what the API server counts, at every size, whether its types are known or not."""
    asked = [(form, values) for case, values in sized(SIZES) for form in forms(case)]
    differ = []
    for (case, values), answer in zip(asked, ask(asked), strict=True):
        if not crashed(answer) and (cost := spent(case, values)) != answer["cost"]:
            lengths = {n: len(v) for n, v in values.items() if hasattr(v, "__len__")}
            differ.append((case.text, lengths, cost, answer["cost"]))
    assert differ == []
    assert len(asked) > 1_400


def padded(case):
    """The case beside something whose cost can be chosen to the unit."""
    text = f"[dyn({case.text}), dyn(pa.contains(pb)), dyn(lists.range(pn).size())].size() == 3"
    return Case(case.name, text, {**case.variables, **PAD})


def padding(units):
    """Values of the padding that cost so much more than none at all."""
    coarse, fine = divmod(units, 1_000)
    return {"pa": "a" * 10_000, "pb": "b" * (10 * coarse), "pn": fine}


def outcomes(case, values):
    """Whether the limit is passed: by the fast form, by the exact one, and within a budget."""
    made = program(case)
    given = tuple(values[name] for name in made.names)
    ways = (lambda: made.call(*given), lambda: made.metered(given, cel.Budget()))
    return [_exceeds(ways[0]), exactly(case, values)[0], _exceeds(ways[1])]


def exactly(case, values):
    """Whether the exact form passes the limit, and what it costs."""
    made = program(case)
    return _exceeds(lambda: made.evaluate(values)), made.cost


def _exceeds(way):
    try:
        way()
    except cel.EvalError as error:
        return error.message == EXCEEDED or error.message
    return False


def bordering():
    """Each case that has a value, with padding that takes it to the limit, and with one unit more."""
    for case, values in sized((0, 100, 1_000)):
        made = program(case)
        if made is None or _fails(made, values):
            continue
        whole = padded(case)
        least = spent(whole, values | padding(0))
        if least <= LIMIT:
            for more in (0, 1):
                yield more, whole, values | padding(LIMIT - least + more)


def _fails(made, values):
    try:
        made.evaluate(values)
    except cel.EvalError:
        return True
    return False


def test_limit_is_passed_where_the_api_server_passes_it():
    """Just under and just over the limit of a call, every row and operator fares as it does in the API server."""
    asked = list(bordering())
    wrong = []
    for (more, case, values), answer in zip(asked, ask([(c, v) for _, c, v in asked]), strict=True):
        theirs = EXCEEDED in str(answer.get("error"))
        ours = outcomes(case, values)
        if ours != [theirs] * 3 or theirs != bool(more):
            wrong.append((case.name, more, ours, answer.get("error"), answer.get("cost")))
        elif theirs and program(case).cost != answer["cost"]:
            wrong.append((case.name, "cancelled", program(case).cost, answer["cost"]))
    assert wrong == []
    assert len(asked) > 900


def test_hostile_values_fare_alike():
    """Long texts and lists, far beyond every threshold, pass the limit or not as in the API server, at its cost."""
    asked = []
    for case in cases():
        size = 1_500 if "list" in str(case.variables) or "map" in str(case.variables) else 50_000
        if "matches" in case.text or "find" in case.text:
            size = 2_000  # a pattern of 50,000 characters takes Go and RE2 more than ten seconds
        asked += [(form, case.values(size)) for form in forms(case)]
    wrong, passed = [], 0
    for (case, values), answer in zip(asked, ask(asked), strict=True):
        theirs = EXCEEDED in str(answer.get("error"))
        passed += theirs
        ours = outcomes(case, values) if theirs else [exactly(case, values)[0]] * 3
        cost = program(case).cost
        if not crashed(answer) and (theirs, answer["cost"]) != (ours[1] is True, cost):
            wrong.append((case.name, case.text, theirs, answer["cost"], cost))
        if theirs and ours != [True] * 3:
            wrong.append((case.name, case.text, ours))
    assert wrong == []
    assert passed > 20


def test_fast_form_meets_the_limit_itself():
    """Where its bound is exact, the fast form gives a value at the limit, and the exact one refuses one unit more."""
    case = Case("in", "1 in v0", {"v0": list_of(INT)})
    made = program(case)
    for count, passes in ((LIMIT - 1, False), (LIMIT, True)):
        values = {"v0": [1] * count}
        assert outcomes(case, values) == [passes] * 3
        assert (fast(made, (values["v0"],)) is None) is passes


ABSORBED = ["'a' in v0", "dyn(v0.map(x, x + 'b')[0]).a", "dyn(v0) == dyn(v1)", "v0.all(x, false)"]


@pytest.mark.parametrize("text", ABSORBED)
def test_passing_the_limit_is_never_absorbed(text):
    """`||` absorbs errors, but not the end of an evaluation that costs too much."""
    variables = {"v0": list_of(STRING), "v1": BYTES, "v2": STRING, "v3": STRING}
    case = Case("absorbed", f"[v0, v0].all(x, v2.contains(v3) || {text} || true)", variables)
    values = {"v0": ["a"] * 120_000, "v1": b"", "v2": "a" * 10_000, "v3": "b" * 9_000}
    assert outcomes(case, values) == [True] * 3
