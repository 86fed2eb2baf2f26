"""Both languages have the same words, made from the same values; sentences of the server are in the reader's too."""

import pytest

from tests.dashboard.browser.chromium import LOOKS, reader

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


SAID = """async (text) => (await import("./static/page/sentences.js")).said(text)"""
LACKS = "requests 4 nvidia.com/gpu of flavor a100, 1 free"


@pytest.mark.parametrize(
    "sentence, chinese",
    [
        (LACKS, "请求 4 nvidia.com/gpu（资源规格 a100），空闲 1"),
        (f"{LACKS}; untolerated taint gpu=:NoSchedule in flavor h100",
         "请求 4 nvidia.com/gpu（资源规格 a100），空闲 1；不容忍污点 gpu=:NoSchedule（资源规格 h100）"),
        ("ClusterQueue team-a is inactive: it is stopped", "ClusterQueue team-a 未启用：已停止"),
        ("ClusterQueue team-a is inactive: AdmissionCheck dws does not exist",
         "ClusterQueue team-a 未启用：AdmissionCheck dws 不存在"),
        ("the rule of this site says no", "the rule of this site says no"),
        ("", ""),
    ],
    ids=["one", "two joined", "one in another", "three deep", "not ours", "nothing"],
)  # fmt: skip
def test_a_sentence_in_the_language_of_the_reader(browser, small, sentence, chinese):
    """In Chinese by its template, with its values; what no template makes is shown as it came, and so is English."""
    told = {}
    for look in ("light", "Chinese"):
        with reader(browser, small.url, LOOKS[look]) as seen:
            told[look] = seen.open(small.url).evaluate(SAID, sentence)
    assert told == {"light": sentence, "Chinese": chinese}
