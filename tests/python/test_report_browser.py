"""The report in a headless Chromium: it loads, finds, opens and closes, in light and dark."""

import numpy as np
import pytest

import bhclust
import browser as chromium
from bhclust import _report, datasets

pytestmark = pytest.mark.skipif(
    chromium.path() is None, reason="needs Chromium (Debian: apt install chromium)"
)

MIDDLE = """(() => {
  const item = document.querySelector('.item[data-node="%d"] .face, .item[data-node="%d"] .dot');
  item.scrollIntoView({ block: "center" });
  const at = item.getBoundingClientRect();
  return [at.x + Math.min(60, at.width / 2), at.y + at.height / 2];
})()"""
BACKGROUND = "getComputedStyle(document.body).backgroundColor"
EVIL = "</script><script>window.hit = 1</script><img src=x onerror='window.hit = 1'>"


@pytest.fixture(scope="module")
def zoo():
    table = datasets.load_zoo()
    return table, bhclust.BHC(family=table.family).fit(table.data)


@pytest.fixture(scope="module")
def tab(tmp_path_factory):
    with_profile = chromium.Browser(tmp_path_factory.mktemp("profile"))
    yield with_profile
    with_profile.close()


@pytest.fixture
def page(tab, zoo, tmp_path):
    table, found = zoo
    return opened(tab, tmp_path, _report.page(found.posterior_, table, unit="animals"))


def opened(tab, folder, text):
    path = folder / "report.html"
    path.write_text(text, encoding="utf-8")
    tab.errors.clear()
    tab.requests.clear()
    tab.go(path.as_uri())
    assert tab.errors == []
    assert tab.requests == [path.as_uri()]
    return tab


def n_items(page):
    return page.run("document.querySelectorAll('.item').length")


def expanded(page, node):
    found = f"document.querySelector('.item[data-node=\"{node}\"]')"
    return page.run(f"{found}.getAttribute('aria-expanded')")


def test_the_tree_of_the_clusters_is_shown(page, zoo):
    found = zoo[1]
    assert n_items(page) == 2 * found.n_clusters_ - 1
    assert page.run("document.querySelector('#about h3').textContent") == (
        f"{found.n_clusters_} clusters"
    )
    assert page.run("document.querySelectorAll('#about table tr').length") > 3
    assert page.run("document.querySelector('[role=tree]').getAttribute('aria-label')")
    assert page.run("document.querySelectorAll('.item[tabindex=\"0\"]').length") == 1


def test_search_finds_a_row(page, zoo):
    page.run("document.getElementById('search').focus()")
    page.type("GIRAFFE")
    page.until("document.querySelectorAll('#hits button').length === 1")
    assert page.run("document.getElementById('live').textContent") == "1 animal found."
    page.press("Enter")
    row = zoo[0].row_names.index("giraffe")
    assert page.run("document.activeElement.dataset.node") == str(row)
    assert page.run("document.querySelector('#about h3').textContent") == "giraffe"
    page.run("document.getElementById('search').value = 'no such animal'")
    page.run("document.getElementById('search').dispatchEvent(new Event('input'))")
    page.until("document.getElementById('live').textContent === 'Nothing found.'")
    assert page.errors == []


def test_a_branch_closes_and_opens_by_mouse(page, zoo):
    root = zoo[1].tree_.n_nodes - 1
    before = n_items(page)
    assert expanded(page, root) == "true"
    page.click(*page.run(MIDDLE % (root, root)))
    assert n_items(page) == 1
    assert expanded(page, root) == "false"
    page.click(*page.run(MIDDLE % (root, root)))
    assert n_items(page) == before


def test_a_branch_closes_and_opens_by_keyboard(page, zoo):
    root = zoo[1].tree_.n_nodes - 1
    before = n_items(page)
    page.run("document.querySelector('.item[tabindex=\"0\"]').focus()")
    page.press("Enter")
    assert (n_items(page), expanded(page, root)) == (1, "false")
    page.press("ArrowRight")
    assert (n_items(page), expanded(page, root)) == (before, "true")
    page.press("ArrowDown")
    child = page.run("Number(document.activeElement.dataset.node)")
    assert child in zoo[1].tree_.children[-1]
    page.press("z")
    assert page.run("document.querySelector('.item').dataset.node") == str(child)
    page.press("Escape")
    assert page.run("document.querySelector('.item').dataset.node") == str(root)
    page.press("ArrowLeft")
    assert n_items(page) == 1
    assert page.errors == []


def test_a_cluster_of_the_table_is_shown_in_the_tree(page):
    page.run("document.querySelector('[data-cluster=\"3\"]').click()")
    assert page.run("document.querySelector('#about h3').textContent") == "cluster 3"
    assert page.run("document.querySelectorAll('#about li').length") > 0


def test_hovering_tells_what_a_cell_is(page):
    x, y = page.run(
        "(() => { const at = document.getElementById('cells'); at.scrollIntoView();"
        "const box = at.getBoundingClientRect(); return [box.x + 5, box.y + 105]; })()"
    )
    page.mouse("mouseMoved", x, y)
    page.until("!document.getElementById('tip').hidden")
    assert "hair, " in page.run("document.getElementById('tip').textContent")


def test_light_and_dark(page):
    page.prefer("light")
    light = page.run(BACKGROUND)
    page.prefer("dark")
    dark = page.run(BACKGROUND)
    page.prefer("light")
    assert light == "rgb(255, 255, 255)"
    assert sum(map(int, dark[4:-1].split(", "))) < 150


def test_narrow_screens_scroll_only_inside(page):
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=360,
        height=700,
        deviceScaleFactor=2,
        mobile=True,
    )
    wide = page.run("document.documentElement.scrollWidth")
    page.call("Emulation.clearDeviceMetricsOverride")
    assert wide <= 360


def test_names_are_inert(tab, tmp_path):
    names = [EVIL, "\u202eabc", "🦒", "</style>", "a\u2028b", "\x00\x1b", "אבג", "javascript:1"]
    X = {EVIL: np.arange(8.0), "__proto__": np.arange(8.0) % 2}
    post = bhclust.BHC(family="gaussian-diag").fit(np.column_stack(list(X.values()))).posterior_
    text = _report.page(post, X, names=names, title=EVIL, unit=EVIL, classes=names)
    page = opened(tab, tmp_path, text)
    page.run("document.getElementById('more').click(); document.getElementById('more').click()")
    page.run("document.getElementById('search').focus()")
    page.type("window.hit")
    page.until("document.querySelectorAll('#hits button').length === 1")
    page.press("Enter")
    assert page.run("document.querySelector('#about h3').textContent") == EVIL
    assert page.run("typeof window.hit") == "undefined"
    assert page.run("document.scripts.length") == 2
    assert page.errors == []


@pytest.mark.parametrize("n", [1, 2, 4000])
def test_chains_and_few_rows(tab, tmp_path, n):
    children = [[0 if t == 0 else n + t - 1, t + 1] for t in range(n - 1)]
    X = np.arange(float(n))[:, None]
    if n == 1:
        post = bhclust.BHC(family="gaussian-diag").fit(X).posterior_
    else:
        newick = linkage(np.array(children, dtype=float), n)
        post = bhclust.posterior(newick, X, "gaussian-diag")
    page = opened(tab, tmp_path, _report.page(post, X))
    page.run("document.getElementById('search').focus()")
    page.type("row 0")
    page.until("document.querySelectorAll('#hits button').length > 0")
    page.press("Enter")
    assert page.run("document.activeElement.dataset.node") == "0"
    assert n_items(page) < 400
    assert page.errors == []


def linkage(children, n):
    heights = np.arange(1.0, n)
    return np.column_stack([children, heights, heights + 1])
