"""Both languages have the same words, made from the same values."""

SHAPES = """async () => {
  const inside = (value) => typeof value === "object" ? Object.keys(value).sort().join() : value.length;
  const one = ([key, value]) => [key, typeof value === "string" ? "a text" : inside(value)];
  const shape = (words) => Object.fromEntries(Object.entries(words).map(one));
  const [en, zh] = await Promise.all(["en", "zh"].map((name) => import(`./static/words/${name}.js`)));
  return [shape(en.default), shape(zh.default)];
}"""


def test_both_languages_have_the_same_words(read, small):
    page = read.open(small.url)
    english, chinese = page.evaluate(SHAPES)
    assert len(english) > 100
    assert english == chinese
