"""Every part is reached without a mouse, and the focus is always seen."""

OUTLINE = """() => { const at = document.activeElement;
  return [at.tagName + at.textContent.slice(0, 20) + at.id, getComputedStyle(at).outlineStyle]; }"""
FOCUSED = "document.activeElement.dataset.key ?? document.activeElement.id"


def test_skip_link_comes_first(read, small):
    page = read.open(small.url)
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED) == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate(FOCUSED) == "main"
    assert "#main" not in page.url


def test_tree_is_walked_with_arrows(read, small):
    """Down and up, closed and opened, and into a queue."""
    page = read.open(small.url)
    page.focus("[role=treegrid] [role=row][tabindex='0']")
    walk = [
        ("ArrowDown", "cohort:research"),
        ("ArrowDown", "queue:language"),
        ("ArrowDown", "queue:vision"),
        ("ArrowLeft", "cohort:research"),
        ("ArrowLeft", "cohort:research"),
        ("ArrowDown", "queue:serving"),
        ("ArrowUp", "cohort:research"),
        ("ArrowRight", "cohort:research"),
        ("End", "queue:archive"),
        ("Home", "cohort:labs"),
    ]
    for key, row in walk:
        page.keyboard.press(key)
        assert page.evaluate(FOCUSED) == row, key
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('vision')")
    page.wait_for_selector("h1:focus")


def test_slash_filters_and_escape_leaves(read, small):
    """`/` is a shortcut outside of inputs; inside it is a character."""
    page = read.open(small.url)
    page.keyboard.press("/")
    assert page.evaluate(FOCUSED) == "filter"
    page.keyboard.type("vis/")
    assert page.input_value("#filter") == "vis/"
    page.keyboard.press("Backspace")
    assert page.locator("[role=row][data-key]").evaluate_all("rows => rows.map(row => row.dataset.key)") == [
        "cohort:labs",
        "cohort:research",
        "queue:vision",
    ]
    assert page.url.endswith("?filter=vis")
    page.keyboard.press("Escape")
    assert page.input_value("#filter") == ""
    assert page.locator("[role=row][data-key]").count() == 6
    assert page.evaluate("document.activeElement.tagName") == "H1"


def test_rows_of_tables_are_walked_with_arrows(read, small):
    page = read.open(small.url + "#/queues/vision")
    page.focus("table a")
    texts = []
    for key in ("ArrowDown", "ArrowDown", "ArrowUp", "End", "Home"):
        page.keyboard.press(key)
        texts.append(page.evaluate("document.activeElement.firstChild.data"))
    assert texts == ["Job/depth", "Job/tracking-eval", "Job/depth", "RayCluster/sweep", "PyTorchJob/segment-7b"]
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('PyTorchJob/segment-7b')")


def test_focus_is_seen(read, small):
    """Whatever Tab reaches on a page has an outline."""
    page = read.open(small.url)
    outlines = {}
    for _ in range(12):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(OUTLINE)
        outlines[name] = outline
    outlines = {name: outline for name, outline in outlines.items() if not name.startswith("BODY")}
    assert len(outlines) > 8
    assert "none" not in outlines.values(), outlines


def test_questions_are_asked_by_keyboard(read, small):
    """The form of a what-if: an amount, Enter, two outlooks; the address holds the question."""
    page = read.open(small.url + "#/workloads/vision/job-segment-7b-4f2a1")
    assert page.locator(".side").count() == 0
    page.focus("#gpus")
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    page.wait_for_selector(".side >> nth=1")
    assert "Runs in vision" in page.inner_text(".sides")
    assert "gpus=3" in page.url
    assert any("what-if?gpus=3&resource=nvidia.com%2Fgpu" in path for path in small.asked)


def test_find_by_keyboard(read, small):
    page = read.open(small.url + "#/policies")
    page.keyboard.press("/")
    page.keyboard.type("vis")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('Found for “vis”')")
    assert page.locator("main a[href='#/queues/vision']").count() == 1
