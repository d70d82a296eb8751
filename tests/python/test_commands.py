"""The commands beside `fit`: what they print of a fitted table, and how they fail."""

import csv
import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bhclust
from bhclust import cli, metrics
from bhclust._commands import doctor, saved


def rain(i):
    return (i % 4 > 1) * (i + 0.5)


LINES = [
    "name,size,ill,kind,rain",
    *(
        f"n{i},{(i % 3) * 10 + i / 100},{'yes' if i % 2 else 'no'},{'abc'[i % 3]},{rain(i)}"
        for i in range(36)
    ),
]
TABLE = "\n".join(LINES) + "\n"


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fitted")
    (folder / "table.csv").write_text(TABLE)
    quick = ("--hyperparameters", "data", "--no-plot", "--no-report", "--target", "kind")
    out = ("--column", "rain=hurdle", "--out", str(folder / "run"))
    assert cli.main(["fit", str(folder / "table.csv"), *quick, *out]) == 0
    return folder


@pytest.fixture
def run(fitted, tmp_path, monkeypatch, capsys):
    """Run a command where a fitted table is in `run`: exit code, stdout, stderr."""
    for name in ("run", "table.csv"):
        os.symlink(fitted / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()

    def command(*arguments):
        code = cli.main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return command


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def records_of(text):
    return [json.loads(line) for line in text.splitlines()]


def test_inspect(run):
    code, out, err = run("inspect", "table.csv", "--column", "rain=hurdle")
    assert (code, err) == (0, "")
    assert "ill (only no and yes)" in out
    assert "cells between commas, decimal points" in out
    assert "fit will take some" in out
    told = records_of(run("inspect", "table.csv", "--json")[1])
    assert {t["name"]: t["family"] for t in told if t["type"] == "column"}["name"] is None
    assert told[-1]["type"] == "estimate"
    assert told[-1]["bytes"] > 0


class TestPredict:
    def test_is_the_estimators_and_the_model_file_is_enough(self, run, fitted):
        os.symlink(fitted / "run" / "model.bhclust", "alone.bhclust")
        code, out, err = run("predict", "alone.bhclust", "table.csv")
        assert (code, err) == (0, "")
        model = saved.open_saved("run")
        proba = model.estimator.predict_proba(model.table.data)
        rows = rows_of(out)
        assert [int(row["cluster"]) for row in rows] == proba[:, :-1].argmax(axis=1).tolist()
        assert [float(row["new_cluster"]) for row in rows] == proba[:, -1].round(6).tolist()
        assert [row["name"] for row in rows] == [f"n{i}" for i in range(36)]
        told = records_of(run("predict", "run", "table.csv", "--json")[1])
        assert [t["cluster"] for t in told] == [int(row["cluster"]) for row in rows]

    def test_one_row_in_another_order_with_other_columns(self, run):
        whole = rows_of(run("predict", "run", "table.csv")[1])
        Path("new.csv").write_text("rain,junk,ill,size,name\n0,1 x,NO,20.05,mine\n,,Yes,,\n")
        code, out, err = run("predict", "run", "new.csv")
        assert (code, err) == (0, "")
        Path("same.csv").write_text("size,ill,rain\n20.05,no,0\n10.1,yes,\n")
        same = rows_of(run("predict", "run", "same.csv")[1])
        new = rows_of(out)
        assert new[0]["name"] == "mine"
        assert new[0]["log_density"] == same[0]["log_density"]
        assert float(new[0]["log_density"]) < max(float(row["log_density"]) for row in whole) + 9

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("size,ill\n1,no\n2,yes\n", "has no column 'rain', which the model needs"),
            ("size,ill,rain\n1,maybe,0\n2,no,3\n", "line 2, column 'ill': 'maybe' is none of the"),
            ("size,ill,rain\nx,no,0\n2,no,3\n", "line 2, column 'size': 'x' is not a number"),
        ],
    )
    def test_refusals(self, run, content, told):
        Path("new.csv").write_text(content)
        code, out, err = run("predict", "run", "new.csv")
        assert (code, out, err.count("\n")) == (1, "", 1)
        assert told in err


def test_cut_show_and_compare(run):
    rows = rows_of(run("cut", "run", "--clusters", "3")[1])
    model = saved.open_saved("run")
    cut = model.estimator.posterior_.cut(n_clusters=3)
    assert [int(row["cluster"]) for row in rows] == cut.tolist()
    assert run("cut", "run", "--clusters", "3", "--out", "three.csv")[:2] == (
        0,
        "wrote three.csv\n",
    )
    assert run("cut", "run", "--clusters", "4", "--out", "three.csv")[0] == 1
    assert rows_of(Path("three.csv").read_text()) == rows
    assert "3 clusters in 36 rows" in run("show", "run", "--clusters", "3")[1]
    assert run("cut", "run", "--clusters", "99")[::2] == (
        1,
        "error: --clusters: 99 given, but the table has 36 rows\n",
    )
    (told,) = records_of(run("compare", "three.csv", "run", "--json")[1])
    labels = model.estimator.labels_
    assert told["adjusted_rand"] == pytest.approx(metrics.adjusted_rand_index(cut, labels))
    assert told["purity"] == metrics.purity(cut.astype(str), labels.astype(str))
    (told,) = records_of(run("compare", "run", "--json")[1])
    assert told["rows"] == 36
    assert told["f_measure"] == metrics.f_measure(labels, list("abc" * 12))
    Path("few.csv").write_text("cluster\n1\n2\n")
    assert "36 rows and few.csv (cluster) 2" in run("compare", "run", "few.csv")[2]


def test_explain(run):
    model = saved.open_saved("run")
    post = model.estimator.posterior_
    root = post.tree.n_nodes - 1
    told = records_of(run("explain", "run", "--node", str(root), "--json")[1])
    assert {t["name"] for t in told} == {"size", "ill", "rain"}
    assert sum(t["nats"] for t in told) == pytest.approx(post.explain(root).columns.sum())
    told = records_of(run("explain", "run", "--cluster", "0", "--clusters", "3", "--json")[1])
    apart = (post.cut(n_clusters=3) != 0).astype(np.int64)
    assert sum(t["nats"] for t in told) == pytest.approx(post.separating_columns(0, 1, apart).sum())
    assert run("explain", "run", "--cluster", "99")[0] == 1


def test_exports_are_read_again(run):
    model = saved.open_saved("run")
    tree, names = model.estimator.tree_, model.table.row_names
    children = tree.children.tolist()
    text = run("export", "run", "--to", "tree")[1]
    assert bhclust.Tree.from_json(text).children.tolist() == children
    again = bhclust.posterior(
        run("export", "run")[1],
        model.estimator.posterior_._table,
        model.estimator.family_,
        alpha=model.estimator.posterior_.alpha,
        names=names,
    )
    assert again.log_evidence == pytest.approx(model.estimator.log_evidence_)
    rows = rows_of(run("export", "run", "--to", "linkage")[1])
    assert len(rows) == 35
    assert rows[-1]["size"] == "36"
    assert len(json.loads(run("export", "run", "--to", "json")[1])["nodes"]) == 71
    assert run("export", "run", "--to", "hclust")[1].startswith("structure(list(merge")
    assert run("export", "run", "--to", "npz", "--out", "a.npz")[0] == 0
    assert np.load("a.npz")["children"].tolist() == children
    drawn = ("export", "run", "--to", "partitions", "--samples", "5", "--seed")
    assert run(*drawn, "3") == run(*drawn, "3")
    assert len(rows_of(run(*drawn, "4")[1])[0]) == 6


def test_plot(run):
    for kind in ("tree", "dendrogram", "heatmap"):
        assert run("plot", "run", kind, "--out", f"{kind}.svg")[0] == 0
        assert "<svg" in Path(f"{kind}.svg").read_text(encoding="utf-8")
    assert "must end in .png, .svg or .pdf" in run("plot", "run", "--out", "tree.gif")[2]


def test_doctor_finds_a_fault(run, monkeypatch):
    code, out, err = run("doctor")
    assert (code, err) == (0, "")
    assert out.count(" ok\n") == 3
    monkeypatch.setattr(doctor, "_table", lambda: 1 / 0)
    code, out, _ = run("doctor", "--json")
    assert code == 1
    assert [t["ok"] for t in records_of(out) if t["type"] == "check"] == [True, False, False]


@pytest.mark.parametrize("name", ["cut", "show", "plot", "export"])
@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "no such file"), (b"x", "not a model"), ("python", "not written by bhclust fit")],
)
def test_what_is_no_run(run, name, content, told):
    if content == "python":
        est = bhclust.BHC("gaussian-diag", hyperparameters="data").fit([[0.0], [1.0], [5.0]])
        bhclust.save(est, "bad")
    elif content is not None:
        Path("bad").write_bytes(content)
    code, out, err = run(name, "bad")
    assert (code, out, err.count("\n")) == (1, "", 1)
    assert told in err


def test_same_input_same_bytes_and_the_digest_is_that_of_the_input(run, fitted):
    quick = ("--hyperparameters", "data", "--no-plot", "--target", "kind")
    for out in ("one", "two"):
        assert run("fit", "table.csv", *quick, "--out", out, "--column", "rain=hurdle")[0] == 0
    for name in os.listdir("one"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes(), name
    told = json.loads(Path("one/run.json").read_text())
    assert told["input"]["sha256"] == hashlib.sha256(TABLE.encode()).hexdigest()
    assert Path("one/labels.csv").read_bytes() == (fitted / "run/labels.csv").read_bytes()


def test_digests_of_the_files_of_names(run):
    np.save("a.npy", np.array([[0.0, 9], [1, 8], [9, 0], [8, 1]]))
    Path("rows.txt").write_text("a\nb\nc\nd\n")
    Path("words.txt").write_text("x\ny\n")
    names = ("--row-names", "rows.txt", "--column-names", "words.txt")
    quick = ("--hyperparameters", "data", "--no-plot", "--no-report")
    assert run("fit", "a.npy", *names, *quick, "--out", "one")[0] == 0
    told = json.loads(Path("one/run.json").read_text())["names"]
    assert told == {
        option: {
            "name": name,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
        }
        for option, name, content in (
            ("row_names", "rows.txt", b"a\nb\nc\nd\n"),
            ("column_names", "words.txt", b"x\ny\n"),
        )
    }


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_dash_is_standard_input(tmp_path, pack):
    command = [sys.executable, "-m", "bhclust", "fit", "-", "--hyperparameters", "data", "--json"]
    done = subprocess.run(
        [*command, "--no-plot"],
        input=pack(TABLE.encode()),
        capture_output=True,
        check=False,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    told = [json.loads(line) for line in done.stdout.splitlines()]
    assert told[0]["path"] == "stdin"
    assert told[-1]["type"] == "files"
    assert (tmp_path / "stdin-clusters" / "labels.csv").exists()


def test_zstd_needs_an_extra_and_says_so(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "zstandard", None)
    Path("t.csv").write_bytes(b"\x28\xb5\x2f\xfd rest")
    told = 'error: t.csv: files packed by zstd need zstandard: pip install "bhclust[zstd]"\n'
    assert run("fit", "t.csv") == (1, "", told)


def test_a_reader_that_leaves_early(fitted):
    shell = f"{{ {sys.executable} -m bhclust export run --to partitions; echo $? >status; }} | true"
    done = subprocess.run(shell, shell=True, capture_output=True, check=False, cwd=fitted)
    assert done.stderr == b""
    assert (fitted / "status").read_text() == "141\n"


@pytest.mark.parametrize("name", ["digits", "mixed"])
def test_tables_that_ship(name):
    table = bhclust.datasets.load(name)
    assert table.target is not None
    assert table.n_rows in (300, 303)


def test_sparse_counts_from_file_to_report(tmp_path, monkeypatch, capsys):
    sparse = pytest.importorskip("scipy.sparse")
    scipy_io = pytest.importorskip("scipy.io")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    topic = np.arange(30) % 2
    rates = np.where(np.arange(400) % 2 == topic[:, None], 0.6, 0.02)
    words = sparse.csr_array(rng.poisson(rates))
    scipy_io.mmwrite("words.mtx", words)
    scipy_io.mmwrite("new.mtx", words[::-1])
    quick = ("--hyperparameters", "data", "--no-plot", "--out", "run")
    assert cli.main(["fit", "words.mtx", *quick]) == 0
    labels = [int(row["cluster"]) for row in rows_of(Path("run/labels.csv").read_text())]
    assert labels in (topic.tolist(), (1 - topic).tolist())
    # Of 400 columns those are told that tell most, and the rest as one.
    report = Path("run/report.html").read_text()
    assert "400 columns" in report
    assert "other columns" in report
    opened = saved.open_saved("run")
    assert (opened.table.data != words).nnz == 0
    capsys.readouterr()
    assert cli.main(["predict", "run", "new.mtx"]) == 0
    assert [int(row["cluster"]) for row in rows_of(capsys.readouterr().out)] == labels[::-1]
    assert cli.main(["explain", "run", "--cluster", "0", "--top", "3"]) == 0
    assert capsys.readouterr().out.count("column ") == 3
    assert cli.main(["show", "run"]) == 0
    assert cli.main(["cut", "run", "--clusters", "3"]) == 0
    scipy_io.mmwrite("narrow.mtx", words[:, :399])
    assert cli.main(["predict", "run", "narrow.mtx"]) == 1
    assert "has no column 'column 400', which the model needs" in capsys.readouterr().err
