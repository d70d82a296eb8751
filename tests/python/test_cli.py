"""The command line: what it prints, what it writes, and how it fails."""

import csv
import errno
import importlib.metadata
import importlib.util
import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bhclust
from bhclust import _commands, cli, datasets, plot

FILES = ["labels.csv", "summary.txt", "tree.json", "tree.nwk", "tree.png"]
SIMPLE = "name,size,ill,kind\n" + "".join(
    f"n{i},{(i % 3) * 10 + i / 100},{i % 2},{'abc'[i % 3]}\n" for i in range(30)
)


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Run the command in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        code = cli.main(list(arguments))
        out, err = capsys.readouterr()
        return code, out, err

    return command


@pytest.fixture
def table(tmp_path):
    def write(content=SIMPLE, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


def read_labels(folder):
    with open(Path(folder) / "labels.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def in_shell(*arguments, **options):
    command = [sys.executable, "-m", "bhclust", *arguments]
    return subprocess.run(command, capture_output=True, check=False, **options)


class TestDemo:
    def test_prints_and_writes(self, run):
        code, out, err = run("demo")
        assert (code, err) == (0, "")
        assert sorted(os.listdir("bhclust-demo")) == FILES
        assert "yes or no (bernoulli)" in out
        flowing = " ".join(out.split())
        assert "legs (few different whole numbers, some left out: 0, 2, 4, 5, 6, 8)" in flowing
        assert "milk 100% (41% overall)" in flowing
        assert all(f"wrote bhclust-demo/{name}" in out for name in FILES)
        assert Path("bhclust-demo/tree.png").read_bytes().startswith(b"\x89PNG")
        told = Path("bhclust-demo/summary.txt").read_text(encoding="utf-8")
        assert told.strip().splitlines()[-5:] == out.strip().splitlines()[-11:-6]

    def test_labels_are_those_of_the_estimator(self, run):
        run("demo")
        zoo = datasets.load_zoo()
        found = bhclust.BHC(family=zoo.family).fit(zoo.data)
        rows = read_labels("bhclust-demo")
        assert [row["name"] for row in rows] == zoo.names
        assert [int(row["cluster"]) for row in rows] == found.labels_.tolist()
        assert [row["class"] for row in rows] == zoo.target
        assert all(0 < float(row["certainty"]) <= 1 for row in rows)

    def test_runs_twice_but_replaces_nothing_elsewhere(self, run):
        assert run("demo")[0] == run("demo")[0] == 0
        assert run("demo", "--out", "mine")[0] == 0
        code, _, err = run("demo", "--out", "mine")
        assert code == 1
        assert "exists already" in err
        assert run("demo", "--out", "mine", "--force")[0] == 0


class TestFit:
    def test_writes_beside_the_caller(self, run, table):
        code, out, err = run("fit", table())
        assert (code, err) == (0, "")
        assert sorted(os.listdir("table-clusters")) == FILES
        assert "30 rows" in out
        assert len(read_labels("table-clusters")) == 30
        assert "class" not in read_labels("table-clusters")[0]

    def test_files_hold_the_tree(self, run, table):
        run("fit", table(), "--out", "o", "--alpha", "0.5", "--target", "kind")
        x = bhclust.io.read_table("table.csv", target="kind")
        found = bhclust.BHC(family=x.family, alpha=0.5).fit(x.data)
        document = Path("o/tree.json").read_text(encoding="utf-8")
        assert json.loads(document)["names"] == x.names
        back = bhclust.Tree.from_json(document)
        assert back.children.tolist() == found.tree_.children.tolist()
        newick = Path("o/tree.nwk").read_text(encoding="utf-8")
        cells = np.column_stack(list(x.data.values()))
        again = bhclust.posterior(newick, cells, found.family_, alpha=0.5, names=x.names)
        assert again.log_evidence == pytest.approx(found.log_evidence_, abs=1e-9)
        assert f"log evidence {found.log_evidence_:,.2f}" in Path("o/summary.txt").read_text()
        assert [row["class"] for row in read_labels("o")] == list("abc" * 10)

    @pytest.mark.parametrize("clusters", [1, 5, 30])
    def test_cuts_into_so_many_clusters(self, run, table, clusters):
        assert run("fit", table(), "--out", "o", "--clusters", str(clusters))[0] == 0
        assert len({row["cluster"] for row in read_labels("o")}) == clusters

    def test_options_reach_the_reader(self, run, table):
        code, out, _ = run(
            *("fit", table(), "--out", "o", "--column", "ill=poisson", "--ignore", "kind"),
            *("--names", "size", "--rule", "r", "--threads", "1", "--no-plot"),
        )
        assert code == 0
        assert "ill (as asked)" in out
        assert "kind (left out as asked)" in out
        assert read_labels("o")[1]["name"] == "10.01"
        assert "tree.png" not in os.listdir("o")

    def test_one_family_for_all(self, run, table):
        text = "\n".join(["a,b", *(f"{i % 4},{i % 3 * 7}" for i in range(24))])
        assert run("fit", table(text), "--family", "gaussian", "--out", "o")[0] == 0
        assert "gaussian" in Path("o/summary.txt").read_text()

    def test_rbhc(self, run, table):
        text = "\n".join(["a,b", *(f"{i % 4}.5,{i % 4 * 7}.25" for i in range(40))])
        code, _, err = run(
            *("fit", table(text), "--algorithm", "rbhc", "--family", "gaussian-spherical"),
            *("--out", "o"),
        )
        assert (code, err) == (0, "")
        assert len({row["cluster"] for row in read_labels("o")}) == 4

    def test_dendrogram(self, run, table):
        assert run("fit", table(), "--out", "o", "--dendrogram")[0] == 0
        assert Path("o/dendrogram.png").read_bytes().startswith(b"\x89PNG")

    def test_names_that_csv_and_newick_must_quote(self, run, table):
        names = ['a, "b"', "it's; (c)", "zwei\nZeilen", "ä:[x]"] * 5
        lines = ["name,x,y"]
        for i, name in enumerate(names):
            quoted = name.replace('"', '""')
            lines.append(f'"{quoted}{i}",{i % 2},{i / 7}')
        assert run("fit", table("\n".join(lines)), "--out", "o")[0] == 0
        assert [row["name"] for row in read_labels("o")] == [f"{n}{i}" for i, n in enumerate(names)]

    def test_names_that_newick_cannot_have_give_way_to_row_numbers(self, run, table):
        lines = ["name,x,y", *(f"{'ab'[i % 2]},{i % 2},{i / 7}" for i in range(20))]
        arguments = ("fit", table("\n".join(lines)), "--names", "name", "--out", "o", "--no-plot")
        code, out, err = run(*arguments)
        assert (code, err) == (0, "")
        assert "tree.nwk names the rows by number: names are there twice, or empty" in out
        assert bhclust.Tree.from_newick(Path("o/tree.nwk").read_text()).n_leaves == 20
        assert [row["name"] for row in read_labels("o")] == ["a", "b"] * 10

    def test_refuses_to_replace_before_it_works(self, run, table, monkeypatch):
        assert run("fit", table(), "--out", "o", "--no-plot")[0] == 0
        before = Path("o/labels.csv").read_bytes()
        monkeypatch.setattr(_commands, "_fit", lambda *_: pytest.fail("worked first"))
        code, _, err = run("fit", table(), "--out", "o", "--no-plot", "--clusters", "3")
        assert code == 1
        assert "o/labels.csv: exists already" in err
        assert Path("o/labels.csv").read_bytes() == before

    def test_force_replaces(self, run, table):
        run("fit", table(), "--out", "o")
        assert run("fit", table(), "--out", "o", "--clusters", "3", "--force")[0] == 0
        assert len({row["cluster"] for row in read_labels("o")}) == 3

    def test_without_matplotlib_only_the_picture_is_missing(self, run, table, monkeypatch):
        find = importlib.util.find_spec
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name)
        )
        code, out, _ = run("fit", table(), "--out", "o")
        assert code == 0
        assert 'pip install "bhclust[plot]"' in out
        assert sorted(os.listdir("o")) == FILES[:-1]


BAD = {
    "missing": (None, (), "no such file"),
    "empty": (b"", (), "the file is empty"),
    "header only": ("a,b\n", (), "no row below it"),
    "one row": ("a,b\n1.5,2\n", (), "there is one row; at least two are needed"),
    "constant": ("a,b\n1,2\n1,2\n1,2\n", (), "no column is left to cluster on"),
    "ragged": ("a,b\n1,2\n3\n", (), "line 3 has 1 cells"),
    "binary": (b"\x89PNG\x00", (), "binary file"),
    "infinite": ("a,b\n1.5,2\ninf,4\n2.5,3\n", (), "line 3, column 'a': 'inf'"),
    "two in bernoulli": (
        "a,b\n0,1.5\n1,2.5\n2,0.5\n",
        ("--column", "a=bernoulli"),
        "line 4, column 'a': '2' is a third value",
    ),
    "fraction in counts": (
        "a,b\n0,1.5\n1,2.5\n2,0.5\n",
        ("--family", "poisson"),
        "line 2, column 'b': '1.5' does not fit family 'poisson'",
    ),
    "alpha": (SIMPLE, ("--alpha", "0"), "--alpha: 0 given; a number above 0 is needed"),
    "alpha nan": (SIMPLE, ("--alpha", "nan"), "--alpha: nan given"),
    "alpha inf": (SIMPLE, ("--alpha", "inf"), "--alpha: inf given"),
    "clusters": (SIMPLE, ("--clusters", "31"), "--clusters: 31 given, but the table has 30 rows"),
    "column": (SIMPLE, ("--ignore", "sise"), "did you mean 'size'?"),
    "family": (SIMPLE, ("--family", "normal"), "family: 'normal' is not known"),
    "out is a file": (SIMPLE, ("--out", "table.csv"), "table.csv: is a file; name a folder"),
}


@pytest.mark.parametrize("case", BAD)
def test_errors_are_one_line_and_leave_nothing(run, table, case):
    content, options, message = BAD[case]
    name = "missing.csv" if content is None else table(content)
    before = sorted(os.listdir("."))
    code, _, err = run("fit", name, *options)
    assert code == 1
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1
    assert sorted(os.listdir(".")) == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["fit"],
        ["fit", "a.csv", "b.csv"],
        ["fit", "a.csv", "--clusters", "0"],
        ["fit", "a.csv", "--clusters", "two"],
        ["fit", "a.csv", "--rule", "x"],
        ["fit", "a.csv", "--column", "legs"],
        ["fit", "a.csv", "--column", "=poisson"],
        ["fit", "a.csv", "--nonsense"],
        ["demo", "--threads", "2"],
    ],
)
def test_wrong_usage(run, arguments):
    code, _, err = run(*arguments)
    assert code == 2
    assert "Traceback" not in err


class TestStops:
    def test_interrupt_writes_nothing(self, run, table, monkeypatch):
        def interrupt(*_):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(_commands._ProgressBar, "show", interrupt)
        code, _, err = run("fit", table(), "--out", "o")
        assert code == 130
        assert err.strip() == "error: interrupted; nothing was written"
        assert not Path("o").exists()

    def test_interrupt_while_drawing_writes_nothing(self, run, table, monkeypatch):
        def interrupt(*_, **__):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(plot, "save_condensed_tree", interrupt)
        assert run("fit", table(), "--out", "o")[0] == 130
        assert not Path("o").exists()

    def test_full_disk_writes_nothing(self, run, table, monkeypatch):
        def fail(*_, **__):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(plot, "save_condensed_tree", fail)
        code, _, err = run("fit", table(), "--out", "o")
        assert code == 1
        assert "No space left" in err
        assert not Path("o").exists()

    def test_memory(self, run, table, monkeypatch):
        def fail(*_):
            raise MemoryError

        monkeypatch.setattr(_commands, "_fit", fail)
        code, _, err = run("fit", table(), "--out", "o")
        assert (code, err) == (1, "error: not enough memory for this table\n")

    @pytest.mark.parametrize("missing", ["click", "rich"])
    def test_without_the_extra_it_is_named(self, run, monkeypatch, missing):
        monkeypatch.setitem(sys.modules, missing, None)
        code, out, err = run("--help")
        assert (code, out) == (1, "")
        assert err.count("\n") == 1
        assert 'pip install "bhclust[cli]"' in err


class TestShell:
    def test_help_and_version(self, run):
        code, out, _ = run("--help")
        assert code == 0
        assert "demo" in out
        assert "fit" in out
        assert run("--version")[:2] == (0, f"bhclust {importlib.metadata.version('bhclust')}\n")

    def test_help_loads_nothing_heavy(self):
        code = (
            "import sys; from bhclust.cli import main; main(['fit', '--help']);"
            "sys.exit(bool({'matplotlib', 'scipy', 'pandas', 'sklearn'} & set(sys.modules)))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr

    def test_as_a_module_on_a_terminal_that_knows_only_ascii(self, tmp_path):
        (tmp_path / "t.csv").write_text(
            "name,x,y\n" + "".join(f"Ä{i},{i % 2},{i / 3}\n" for i in range(9)), encoding="utf-8"
        )
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        done = in_shell("fit", "t.csv", "--no-plot", cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "t-clusters" / "labels.csv").read_text(encoding="utf-8").count("Ä") == 9

    def test_a_reader_that_leaves_early_gets_no_traceback(self, tmp_path):
        command = f"{sys.executable} -m bhclust fit --help | true"
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.stderr == ""

    def test_exit_code_of_an_error(self, tmp_path):
        done = in_shell("fit", "missing.csv", cwd=tmp_path, text=True)
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr == "error: missing.csv: no such file; check the name and the folder\n"


class TestProgress:
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def test_a_bar_on_a_terminal_after_a_second(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", self.Terminal())
        with _commands._ProgressBar() as bar:
            bar.show(1, 10)
            assert sys.stderr.getvalue() == ""
            bar._begin -= 2
            bar.show(5, 10)
            bar.show(10, 10)
        assert "clustering" in sys.stderr.getvalue()

    def test_no_bar_elsewhere(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        with _commands._ProgressBar() as bar:
            bar._begin -= 2
            bar.show(5, 10)
        assert sys.stderr.getvalue() == ""


def test_certainty_is_one_where_the_clusters_are_far_apart(run, table):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 2)) + 1000 * (np.arange(40) % 2)[:, None]
    text = "\n".join(["a,b", *(f"{a:.6f},{b:.6f}" for a, b in x)])
    run("fit", table(text), "--out", "o", "--no-plot")
    rows = read_labels("o")
    assert [int(row["cluster"]) for row in rows] == [0, 1] * 20
    assert min(float(row["certainty"]) for row in rows) > 0.9
