"""The page about a clustering: it is whole, well formed, safe, and needs nothing from outside."""

import base64
import hashlib
import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse

import bhclust
from bhclust import _memberships, _report, _report_data, datasets


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
        if tag not in ("meta", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] not in (["script"], ["style"]):
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
    assert page.fetched
    assert all(source.startswith("#") for source in page.fetched)
    assert page.tags.count("script") == 2
    for heading in ("The tree", "How many clusters", "The clusters", "Doubtful animals"):
        assert heading in page.said
    assert f"{found.n_clusters_} clusters in 101 animals" in page.said
    assert f"{found.log_evidence_:,.2f}" in page.said
    assert "milk: 100% (41% overall)" in page.said
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
    assert not {"i", "u"} & set(page.tags)
    assert page.tags.count("script") == 2
    assert text.count("<script") == text.count("</script") == 2
    assert evil in page.said


def test_the_policy_allows_what_the_page_holds(zoo):
    table, found = zoo
    text = _report.page(found.posterior_, table)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert policy.startswith("default-src 'none'; ")
    for tag, source in (("style", "style-src"), ("script", "script-src")):
        own = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in policy
    assert " style=" not in text
    assert "onclick" not in text


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.DOTALL)[1])


def test_the_data_are_the_tree_and_the_table(zoo):
    table, found = zoo
    post = found.posterior_
    data = data_of(_report.page(post, table))
    assert data["names"] == table.row_names
    assert data["labels"] == found.labels_.tolist()
    drawn = np.reshape(data["kids"], (-1, 2))
    assert np.array_equal(np.sort(drawn), np.sort(found.tree_.children))
    root = found.tree_.n_nodes - 1
    parts = post.explain(root).columns
    column, nats = data["explained"][str(root)][0]
    most = int(np.abs(parts).argmax())
    assert data["columns"][column] == list(table.columns)[most]
    assert nats == pytest.approx(parts[most], abs=0.06)
    assert len(data["cells"]) == table.n_rows * len(data["fields"])


def test_a_hurdle_is_one_column_of_the_explanation():
    rng = np.random.default_rng(3)
    zero = np.repeat([0.0, 1.0], 10)
    X = {"rain": zero * rng.gamma(9.0, 1.0, 20), "heat": rng.normal(size=20)}
    found = bhclust.BHC(family={"rain": "hurdle", "heat": "gaussian-diag"}).fit(X)
    told = _report_data.explained(found.posterior_, {"rain": 2, "heat": 1})
    root = found.tree_.n_nodes - 1
    parts = {told["columns"][column]: nats for column, nats in told["explained"][str(root)]}
    own = found.posterior_.explain(root).columns
    assert parts["rain"] == pytest.approx(own[0] + own[1], abs=0.06)
    assert not _report_data.explained(found.posterior_, {})["explained"]


def test_doubtful_rows_and_their_alternatives():
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.normal(-4.0, 1.0, 30), rng.normal(4.0, 1.0, 30), [0.0]])[:, None]
    labels = bhclust.BHC(family="gaussian-diag").fit(X)
    post = labels.posterior_
    found = _memberships.memberships(post, post.cut(n_clusters=2), np.arange(61))
    assert int(np.argmin(found.own)) == 60
    assert found.own[60] + found.chance[60] <= 1 + 1e-12
    said = without_pictures(post, X, labels=post.cut(n_clusters=2)).said
    assert "Doubtful rows" in said
    assert "row 60" in said.split("Doubtful rows")[1]


def test_memberships_are_those_of_new_rows():
    rng = np.random.default_rng(6)
    X = np.concatenate([rng.poisson(rate, (12, 3)) for rate in (1.0, 20.0)]).astype(float)
    found = bhclust.BHC(family="poisson").fit(X)
    labels = found.labels_
    members = _memberships.memberships(found.posterior_, labels, np.arange(24))
    # The first fold: the first and the eleventh row of each cluster.
    turn = np.array([np.flatnonzero(labels[:row] == labels[row]).size for row in range(24)])
    aside, rest = turn % 10 == 0, turn % 10 != 0
    post = bhclust.posterior(
        bhclust.bhc(X[rest], found.family_), X[rest], found.family_, alpha=found.posterior_.alpha
    )
    chances = np.exp(post.predict_log_proba(X[aside], labels[rest]))
    own = chances[np.arange(aside.sum()), labels[aside]]
    np.testing.assert_allclose(members.own[aside], own, rtol=1e-12)
    sparse = scipy.sparse.csr_matrix(X)
    other = bhclust.posterior(found.tree_, sparse, found.family_, alpha=found.posterior_.alpha)
    again = _memberships.memberships(other, labels, np.arange(24))
    np.testing.assert_allclose(again.own, members.own, rtol=1e-9)


def test_a_page_of_2000_rows_is_small():
    rng = np.random.default_rng(1)
    middle = rng.normal(size=(25, 8)) * 5
    X = middle[rng.integers(25, size=2000)] + rng.normal(size=(2000, 8))
    post = bhclust.posterior(bhclust.bhc(X, "gaussian-diag"), X, "gaussian-diag")
    names = [f"sample {row}" for row in range(2000)]
    assert len(_report.page(post, X, names=names).encode()) < 300_000


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
    assert "The 200 largest are listed; 200 are not." in page.said
    assert page.tags.count("tr") < 400


def test_forest():
    X = np.repeat([[0.0], [500.0], [1500.0]], 4, axis=0) + np.arange(12)[:, None] / 100
    found = bhclust.RBHC(lam=0.5).fit(X)
    assert len(found.tree_.roots) == 3
    page = Page(_report.page(found.posterior_, X))
    assert "3 clusters in 12 rows" in page.said
    assert page.open == []


def test_needs_no_matplotlib(zoo, monkeypatch):
    table, found = zoo
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = Page(_report.page(found.posterior_, table))
    assert "The tree" in page.said


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


def test_names_that_are_not_row_numbers_are_given():
    X = np.arange(4.0)[:, None]
    post = bhclust.BHC(family="gaussian-diag").fit(X).posterior_
    assert data_of(_report.page(post, X))["names"] is None
    names = [f"row {row + 1}" for row in range(4)]
    assert data_of(_report.page(post, X, names=names))["names"] == names
