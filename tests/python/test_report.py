"""The page about a clustering: it is whole, well formed, safe, and needs nothing from outside."""

import importlib.util
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import bhclust
from bhclust import _report, datasets


class Page(HTMLParser):
    """Tags that are open, the text of each kind of element, and what is fetched."""

    def __init__(self, text):
        super().__init__()
        self.open, self.fetched, self.texts, self.tags = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.fetched += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def said(self):
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def zoo():
    table = datasets.load_zoo()
    return table, bhclust.BHC(family=table.family).fit(table.data)


def without_pictures(post, X, **options):
    return Page(_report.page(post, X, pictures=False, **options))


def test_everything_is_on_the_page(zoo, tmp_path):
    table, found = zoo
    path = tmp_path / "report.html"
    bhclust.report(found.posterior_, table, path, title="Zoo", unit="animals")
    page = Page(path.read_text(encoding="utf-8"))
    assert page.open == []
    assert len(page.fetched) == 2
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.fetched)
    assert "script" not in page.tags
    for heading in ("The tree", "How many clusters", "The clusters", "What was chosen"):
        assert heading in page.said
    assert f"{found.n_clusters_} clusters in 101 animals" in page.said
    assert f"{found.log_evidence_:,.2f}" in page.said
    assert "milk 100% (41% overall)" in page.said
    assert "name set aside names of the rows" in page.said
    assert "few different whole numbers" in page.said
    assert bhclust.__version__ in page.said
    assert [entry.name for entry in tmp_path.iterdir()] == ["report.html"]


def test_the_number_of_clusters(zoo):
    table, found = zoo
    said = without_pictures(found.posterior_, table).said
    chances = found.posterior_.n_clusters_distribution(40)
    best = int(chances.argmax()) + 1
    assert f"The most probable number is {best} ({chances[best - 1]:.1%})" in said
    low, high = map(int, re.search(r"from (\d+) to (\d+) with a chance", said).groups())
    assert chances[low - 1 : high].sum() >= 0.95
    assert max(chances[low:high].sum(), chances[low - 1 : high - 1].sum()) < 0.95


def test_bytes_are_the_same_every_time(zoo):
    table, found = zoo
    pages = [_report.page(found.posterior_, table, pictures=place == 2) for place in range(3)]
    assert pages[0] == pages[1] != pages[2]


def test_texts_of_the_table_stay_texts():
    evil = "<script>alert('x')</script>&\"'"
    X = {evil: [0.0, 0.1, 9.0, 9.2], "b": ["<i>", "<i>", "<b>", "<b>"]}
    found = bhclust.BHC(family={evil: "gaussian-diag", "b": "categorical"}).fit(X)
    text = _report.page(
        found.posterior_,
        X,
        names=[evil] * 4,
        classes=[evil, evil, "</table>", "a\udc80b"],
        title=evil,
        unit="<u>",
        choices={evil: evil},
    )
    page = Page(text)
    assert page.open == []
    assert not {"script", "i", "b", "u"} & set(page.tags)
    assert evil in page.said


@pytest.mark.parametrize("n", [1, 2, 5])
@pytest.mark.parametrize("alone", [True, False])
def test_few_rows(n, alone, tmp_path):
    X = np.arange(n, dtype=float)[:, None]
    post = bhclust.BHC(family="gaussian-diag").fit(X).posterior_
    labels = np.arange(n) if alone else np.zeros(n, dtype=int)
    bhclust.report(post, X, tmp_path / "r.html", labels=labels)
    page = Page((tmp_path / "r.html").read_text(encoding="utf-8"))
    clusters = n if alone else 1
    rows = "1 row" if n == 1 else f"{n} rows"
    assert f"{clusters} cluster{'s' if clusters > 1 else ''} in {rows}." in page.said
    assert "nan" not in page.said.lower()


def test_many_clusters_are_cut_short():
    n = 400
    X = np.random.default_rng(0).normal(size=(n, 2))
    post = bhclust.BHC(family="gaussian-diag", tree="rbhc").fit(X).posterior_
    page = without_pictures(post, X, labels=np.arange(n))
    assert "The 300 largest are listed; 100 are not." in page.said
    assert page.tags.count("tr") < 400


def test_forest():
    X = np.repeat([[0.0], [500.0], [1500.0]], 4, axis=0) + np.arange(12)[:, None] / 100
    found = bhclust.RBHC(lam=0.5).fit(X)
    assert len(found.tree_.roots) == 3
    page = Page(_report.page(found.posterior_, X))
    assert "3 clusters in 12 rows" in page.said
    assert page.open == []


def test_without_matplotlib_the_rest_is_there(zoo, monkeypatch):
    table, found = zoo
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name)
    )
    page = Page(_report.page(found.posterior_, table))
    assert page.fetched == []
    assert "No picture: it needs matplotlib" in page.said
    assert "The clusters" in page.said


def test_replaces_and_leaves_nothing_when_it_fails(zoo, tmp_path):
    table, found = zoo
    path = tmp_path / "r.html"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(ValueError, match="names: 1 given for 101 rows"):
        bhclust.report(found.posterior_, table, path, names=["a"])
    assert path.read_text(encoding="utf-8") == "old"
    (tmp_path / "f" / "r.html").mkdir(parents=True)
    with pytest.raises(ValueError, match=r"r\.html: is a folder where a file is to go"):
        bhclust.report(found.posterior_, table, tmp_path / "f" / "r.html")
    assert [entry.name for entry in (tmp_path / "f").iterdir()] == ["r.html"]
    bhclust.report(found.posterior_, table, str(path))
    assert f"{found.n_clusters_} clusters" in Path(path).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("post", "path", "message"),
    [
        ("tree", "r.html", "post must be a Posterior, not a Tree"),
        ("estimator", "r.html", "a fitted estimator has it as posterior_"),
        ("posterior", 7, "path must be the path of a file, not 7"),
        ("posterior", None, "path must be the path of a file, not None"),
    ],
)
def test_refused(zoo, post, path, message):
    table, found = zoo
    given = {"tree": found.tree_, "estimator": found, "posterior": found.posterior_}[post]
    with pytest.raises(TypeError, match=message):
        bhclust.report(given, table, path)
