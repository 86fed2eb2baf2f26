"""Makes input from a seed: noise, nesting, growth, and public texts with a few bytes changed. Nothing is run here."""

import random
import string

NAMES = ["object", "object.s", "object.l", "object.m", "object.lm", "oldObject", "request.name", "x", "object.big"]
CEL_SEEDS = [
    "object.l.all(x, x > 0 && object.m.a == 1)",
    "object.lm.map(e, e.name).filter(n, n.startsWith('a')).size() > 0",
    "object.?m[?'a'].orValue(0) + int(object.s) == 3",
    "quantity('1Gi').add(quantity('2')).isGreaterThan(quantity(object.s))",
    "'%s %d %.3f'.format([object.s, 3, 1.5])",
    "object.s.matches('^[a-z]+(-[0-9]*)?$') ? duration('1h') : duration('2h')",
    "object.l.transformList(i, v, i + v).sort().distinct().flatten()",
    "url('https://a:1/b?c=d').getHost() + ip('::1').family()",
    "{'a': [1, 2u, 3.0], 'b': {true: null}}['a'][0] in object.l",
    "timestamp('2024-01-01T00:00:00Z') + duration('1s') > timestamp(0)",
    "cidr('10.0.0.0/8').containsIP('10.1.2.3') && semver('1.2.3').major() == 1",
    "Object{spec: Object.spec{a: [object.s], ?b: object.?zz}}",
    "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey(object.s), value: Object.a{b: 1}}]",
    "optional.of(object).optMap(o, o.l).value().exists_one(v, v == 2)",
    "b'\\xff' + bytes(object.s) == r'\\n' || 0x1F < 1e-3",
]
YAML_SEEDS = [
    "a: 1\nb: [1, {c: d}]\n---\nkind: Pod\n",
    "a: &x [1, 2]\nb: *x\nc: |\n  text\n  more\nd: >-\n  folded\n",
    "'quoted': \"es\\ncaped\"\n? complex\n: value\n<<: {a: b}\nt: 2024-01-01\nf: .inf\nn: ~\n",
    "%YAML 1.1\n--- !!map\n{a: !!str 1, b: 0x1F, c: 0o7, d: 1_000}\n...\n",
]
PATTERNS = [
    "(a+)+$",
    "a{1000}",
    "(a|a)*b",
    "[^x]*",
    "((a{30}){30})",
    "\\p{L}+",
    "(?i)k",
    "(?:a?){50}a{50}",
    ".*.*.*=",
    "$^",
]


def noise(rng: random.Random, alphabet: str = "ab.?:()[]{}'\"\\+-*/%<>=!&|,0123456789uxe \n\t`é\U0001f600") -> str:
    """Any text, up to 200 characters."""
    return "".join(rng.choice(alphabet) for _ in range(rng.randrange(200)))


def changed(rng: random.Random, text: str) -> str:
    """A text with a few pieces deleted, doubled, moved or replaced."""
    for _ in range(rng.randrange(1, 6)):
        a = rng.randrange(len(text) + 1)
        b = min(len(text), a + rng.randrange(12))
        piece = rng.choice(
            ["", text[a:b] * 2, noise(rng)[:5], chr(rng.choice([0, 9, 0x7F, 0x85, 0x2028, 0xD800, 0x1F600]))]
        )
        text = text[:a] + piece + text[b:]
    return text


def nested(rng: random.Random) -> str:
    """One construct inside itself, up to 100,000 times."""
    depth = rng.choice([10, 100, 249, 251, 2_000, 100_000])
    left, middle, right = rng.choice(
        [
            ("(", "1", ")"),
            ("[", "1", "]"),
            ("{'a': ", "1", "}"),
            ("!", "true", ""),
            ("-", "x", ""),
            ("true ? ", "1", " : 2"),
            ("object.l.map(x, ", "x", ")"),
            ("object.", "l", ""),
            ("1 + ", "1", ""),
            ("true && ", "true", ""),
            ("has(", "object.a", ")"),
            ("size(", "'a'", ")"),
            ("Object{a: ", "1", "}"),
            ("", "object", ".?a"),
            ("", "object.l", "[0]"),
            ("", "object.l", ".flatten()"),
        ]
    )
    return left * depth + middle + right * depth


def growing(rng: random.Random) -> str:
    """An expression whose value grows with each step."""
    steps = rng.randrange(1, 40)
    body, step = rng.choice(
        [
            ("object.s", " + object.s"),
            ("object.s", ".replace('', object.s)"),
            ("[object.s, object.s]", ".map(x, [x, x])"),
            ("object.l", ".map(x, object.l.map(y, x + y)).flatten()"),
            ("object.s", ".split('').join(object.s)"),
            ("lists.range(1000)", ".map(x, lists.range(1000))"),
            ("'%s'", ".format([object.l])"),
            ("quantity('1e100')", ".add(quantity('1e-100'))"),
            ("9223372036854775807", " * 2"),
        ]
    )
    return f"{body}{step * steps}"


def regex(rng: random.Random) -> str:
    """A pattern that is costly for other engines, on a long text."""
    pattern = changed(rng, rng.choice(PATTERNS)) if rng.random() < 0.5 else rng.choice(PATTERNS)
    quoted = pattern.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    function = rng.choice(["matches", "find", "findAll"])
    return f"object.long.{function}('{quoted}')"


def cel_text(rng: random.Random) -> str:
    """An expression of any of these sorts."""
    make = rng.choice([noise, nested, growing, regex, None, None, None, None])
    if make is not None:
        return make(rng)
    return changed(rng, rng.choice(CEL_SEEDS).replace("object.s", rng.choice(NAMES), rng.randrange(2)))


def yaml_text(rng: random.Random) -> str:
    """Documents: changed, noisy, nested, or with aliases that multiply."""
    roll = rng.random()
    if roll < 0.2:
        return noise(rng, string.printable + "é\u2028")
    if roll < 0.3:
        open_, close = rng.choice([("[", "]"), ("{a: ", "}"), ("- ", ""), ("a:\n ", ""), ("? ", "")])
        depth = rng.choice([50, 199, 201, 3_000])
        return open_ * depth + "1" + close * depth
    if roll < 0.35:
        rows = [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, rng.randrange(2, 12))]
        return "\n".join(["a0: &a0 [x, x]", *rows])
    return changed(rng, rng.choice(YAML_SEEDS))


def tree(rng: random.Random, depth: int = 4) -> object:
    """Any JSON value."""
    roll = rng.randrange(8 if depth else 6)
    if roll < 6:
        return rng.choice([None, True, 0, -1, 2**70, 1.5, "", "a", "~1/", "1", noise(rng)[:8]])
    if roll == 6:
        return [tree(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(["a", "b", "", "a/b", "~", "metadata", "spec", "0"]): tree(rng, depth - 1) for _ in range(4)}
