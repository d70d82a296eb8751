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
from bhclust import cli, datasets, plot
from bhclust._commands import clustering
from bhclust._commands.session import ProgressBar

FILES = [
    *("labels.csv", "model.bhclust", "report.html", "run.json", "summary.txt"),
    *("tree.json", "tree.nwk", "tree.png"),
]
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
        assert "milk: 100% (41% overall)" in flowing
        assert all(f"wrote bhclust-demo/{name}" in out for name in FILES)
        assert Path("bhclust-demo/tree.png").read_bytes().startswith(b"\x89PNG")
        told = Path("bhclust-demo/summary.txt").read_text(encoding="utf-8")
        assert told.strip().splitlines()[-5:] == out.strip().splitlines()[-14:-9]

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

    def test_labels_join_to_the_file(self, run, table):
        lines = [line.partition(",")[2] for line in SIMPLE.splitlines()]
        for place, blank in ((20, ""), (10, ",,"), (3, ""), (1, ",,")):
            lines.insert(place, blank)
        code, out, _ = run("fit", table("\n".join(lines) + "\n"), "--out", "o", "--no-plot")
        assert code == 0
        assert "2 rows without any value skipped (lines 2, 13)" in out
        rows = [line for line in lines[1:] if line]
        labels = read_labels("o")
        assert len(labels) == 30
        newick = Path("o/tree.nwk").read_text()
        for label in labels:
            mine = lines[int(label["line"]) - 1]
            assert (
                float(mine.split(",")[0]) == int(label["row"])
                or rows[int(label["row"]) - 1] == mine
            )
            assert mine.strip(",")
            assert label["name"] == f"row {label['row']}"
            assert newick.count(f"'{label['name']}'") == 1

    def test_known_classes_are_only_compared_with(self, run, table):
        text = SIMPLE.replace("kind", "species")
        code, out, _ = run("fit", table(text), "--out", "o", "--no-plot")
        assert code == 0
        assert "'species' looks like known classes: only compared with" in out
        assert "--column species=categorical" in " ".join(out.split())
        assert "adjusted Rand index with the known classes" in out
        assert [row["class"] for row in read_labels("o")] == list("abc" * 10)
        run("fit", table(SIMPLE), "--out", "p", "--no-plot", "--target", "kind")
        assert read_labels("o") == read_labels("p")
        code, out, _ = run(
            *("fit", table(text), "--out", "q", "--no-plot", "--column", "species=categorical")
        )
        assert code == 0
        assert "adjusted Rand" not in out
        assert "class" not in read_labels("q")[0]

    @pytest.mark.parametrize("rule", ["map", "r"])
    def test_a_rule_goes_with_a_number_of_clusters(self, run, table, rule):
        assert (
            run("fit", table(), "--out", "o", "--no-plot", "--clusters", "4", "--rule", rule)[0]
            == 0
        )
        x = bhclust.io.read_table("table.csv")
        found = bhclust.BHC(x.family, rule=rule, n_clusters=4).fit(x.data)
        assert [int(row["cluster"]) for row in read_labels("o")] == found.labels_.tolist()

    def test_how_the_tree_is_grown_and_learned(self, run, table):
        options = ("--algorithm", "ward", "--hyperparameters", "data", "--alpha", "2")
        assert run("fit", table(), "--out", "o", "--no-plot", *options)[0] == 0
        x = bhclust.io.read_table("table.csv")
        found = bhclust.BHC(x.family, tree="ward", hyperparameters="data", alpha=2.0).fit(x.data)
        assert [int(row["cluster"]) for row in read_labels("o")] == found.labels_.tolist()
        assert f"log evidence {found.log_evidence_:,.2f}" in Path("o/summary.txt").read_text()

    def test_one_row_is_told_in_the_singular(self, run, table):
        assert "table.csv: 1 row\n" in run("fit", table("a,b\n1.5,2\n"))[1]

    def test_a_file_whose_name_is_no_text(self, run, tmp_path):
        name = os.fsdecode(b"t\xff.csv")
        (tmp_path / name).write_text(SIMPLE)
        code, _, err = run("fit", name, "--out", "o")
        assert (code, err) == (0, "")
        assert Path("o/summary.txt").read_text(encoding="utf-8").startswith("t?.csv: 30 rows")

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

    def test_report(self, run, table):
        assert run("fit", table(), "--out", "o", "--clusters", "3", "--target", "kind")[0] == 0
        told = Path("o/report.html").read_text(encoding="utf-8")
        assert "3 clusters in 30 rows" in told
        assert "cut into 3" in told
        assert '<script type="application/json" id="data">' in told
        assert run("fit", table(), "--out", "p", "--no-report")[0] == 0
        assert "report.html" not in os.listdir("p")
        assert run("fit", table(), "--out", "q", "--no-plot")[0] == 0
        assert "<script" not in Path("q/report.html").read_text(encoding="utf-8")

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
        monkeypatch.setattr(clustering, "_fit", lambda *_: pytest.fail("worked first"))
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
    "ragged": ("a,b\n1,2\n3\n", (), "line 3 has 1 cell, "),
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
    "only infinite": ("a,b\ninf,4\ninf,3\n", (), "line 2, column 'a': 'inf'"),
    "huge": ("a,b\n1e308,4\n-1e308,3\n2,5\n", (), "line 2, column 'a': '1e308' is too large"),
    "dendrogram": (SIMPLE, ("--no-plot", "--dendrogram"), "--dendrogram: --no-plot forbids it"),
    "two uses": (SIMPLE, ("--ignore", "ill", "--column", "ill=poisson"), "ignore: 'ill' is named"),
    "target left out": (SIMPLE, ("--ignore", "ill", "--target", "ill"), "target: 'ill' is named"),
    "target clustered on": (
        SIMPLE,
        ("--column", "kind=categorical", "--target", "kind"),
        "target: 'kind' is named by columns too; a column has one use",
    ),
    "out below a file": (SIMPLE, ("--out", "table.csv/o"), "table.csv: is a file; name a folder"),
    "out too long": (SIMPLE, ("--out", "o" * 300), "too long; choose a shorter name"),
    "length": (
        "a,b\n\n0.6,0.8\n,\n3.5,1.5\n",
        ("--family", "von-mises-fisher"),
        "table.csv: line 5 has length 3.8078",
    ),
    "tiny": ("a,b\n1e-200,1\n2e-200,2\n", (), "line 3, column 'a': '2e-200' is the largest"),
    "control": ("a\x1b[2J,b\n1 %,1\n2,3\n", (), "column 'a\ufffd[2J': '1 %' looks like"),
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
        ["demo", "--threads", "0"],
        ["demo", "nonsense"],
        ["explain", "run"],
        ["explain", "run", "--node", "3", "--against", "1"],
        ["export", "run", "--to", "nonsense"],
        ["export", "run", "--seed", "1"],
        ["demo", "--out", ""],
        ["fit", "a.csv", "--out", ""],
        ["fit", "a.csv", "--out", "o", "--out", "p"],
        ["fit", "a.csv", "--column", "x=poisson", "--column", "x=gaussian"],
        ["fit", "a.csv", "--column", "x=poisson", "--column", "x=poisson"],
        *(
            ["fit", "a.csv", option, value, option, value]
            for option, value in [
                ("--family", "poisson"),
                ("--target", "x"),
                ("--names", "x"),
                ("--alpha", "1"),
                ("--clusters", "2"),
                ("--rule", "r"),
                ("--algorithm", "rbhc"),
                ("--threads", "1"),
            ]
        ),
    ],
)
def test_wrong_usage(run, arguments):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert err.endswith("--help lists the options)\n")


def test_without_a_command_the_help_is_shown(run):
    code, out, err = run()
    assert code == 2 or code == 0
    assert "demo" in out + err


@pytest.mark.parametrize(
    ("complaint", "told"),
    [
        (
            "X: row 3, column 1 is 7; such takes 8",
            "table.csv: line 6, column 'ill' is 7; such takes 8",
        ),
        ("X: row 3, column 'column 9' is 7", "table.csv: line 6, column 'column 9' is 7"),
        ("X: row 0, column 'ill' is 7", "table.csv: line 3, column 'ill' is 7"),
        ("X: row 8 has length 2", "table.csv: line 11 has length 2"),
        ("X has 2 columns", "X has 2 columns"),
    ],
)
def test_refusals_of_the_core_name_line_and_column(run, table, monkeypatch, complaint, told):
    def refuse(*_):
        raise ValueError(complaint)

    monkeypatch.setattr(bhclust.BHC, "fit", refuse)
    text = "size,ill\n\n" + "".join(f"{i}.5,{i % 2}\n" for i in range(9))
    assert run("fit", table(text))[::2] == (1, f"error: {told}\n")


def test_letters_that_the_font_lacks_are_spelled(run, table):
    text = SIMPLE.replace("name", "姓名").replace("size", "大小").replace("n", "动物")
    code, out, err = run("fit", table(text), "--out", "o", "--dendrogram")
    assert (code, err) == (0, "")
    assert "font" not in out
    assert Path("o/tree.png").read_bytes().startswith(b"\x89PNG")


def test_cells_cannot_command_the_terminal(run, table):
    code, out, _ = run("fit", table(SIMPLE.replace("size", "s\x1b[2Jize")), "--out", "o")
    assert code == 0
    assert "s\ufffd[2Jize" in out
    assert "\x1b" not in out


class TestStops:
    def test_interrupt_writes_nothing(self, run, table, monkeypatch):
        def interrupt(*_):
            signal.raise_signal(signal.SIGINT)

        monkeypatch.setattr(ProgressBar, "show", interrupt)
        code, _, err = run("fit", table(), "--out", "o")
        assert code == 130
        assert err == "error: interrupted; nothing was written\n"
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

    @pytest.mark.parametrize("step", ["mkdir", "fsync", "replace"])
    def test_a_disk_that_fills_up_while_files_are_written(self, run, table, monkeypatch, step):
        name = table()

        def fail(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(os, step, fail)
        code, _, err = run("fit", name, "--out", "o", "--no-plot")
        assert code == 1
        assert err.startswith("error: o")
        assert err.endswith(
            "cannot be written: No space left on device; free some space, or name "
            "a folder on another disk\n"
        )
        assert err.count("\n") == 1
        assert os.listdir(".") == [name]

    @pytest.mark.parametrize("call", [1, 3, 9])
    def test_an_interrupt_while_files_are_written(self, run, table, monkeypatch, call):
        name, replace, calls = table(), os.replace, 0

        def interrupt(*places):
            nonlocal calls
            calls += 1
            if calls == call:
                signal.raise_signal(signal.SIGINT)
            replace(*places)

        monkeypatch.setattr(os, "replace", interrupt)
        code, _, err = run("fit", name, "--out", "o")
        if call <= len(FILES):
            assert (code, err) == (130, "error: interrupted; the files in o are written\n")
        else:
            assert (code, err) == (0, "")
        assert sorted(os.listdir("o")) == FILES

    def test_memory(self, run, table, monkeypatch):
        def fail(*_):
            raise MemoryError

        monkeypatch.setattr(clustering, "_fit", fail)
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

    @pytest.mark.parametrize("arguments", ["--help", "fit --help", "fit t.csv --no-plot"])
    @pytest.mark.parametrize("reader", ["true", "head -n 1"])
    def test_a_reader_that_leaves_early(self, tmp_path, arguments, reader):
        (tmp_path / "t.csv").write_text(SIMPLE)
        command = f"{{ {sys.executable} -m bhclust {arguments}; echo $? >status; }} | {reader}"
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert done.stderr == ""
        status = int((tmp_path / "status").read_text())
        assert status == 141 or (status == 0 and reader != "true")
        if "help" not in arguments:
            assert sorted(os.listdir(tmp_path / "t-clusters")) == FILES[:-1]

    def test_output_that_cannot_be_written(self, tmp_path):
        (tmp_path / "t.csv").write_text(SIMPLE)
        with open("/dev/full", "w") as full:
            command = [sys.executable, "-m", "bhclust", "fit", "t.csv", "--no-plot"]
            done = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=tmp_path
            )
        told = "error: standard output: cannot be written: No space left on device\n"
        assert (done.returncode, done.stderr) == (1, told)
        assert sorted(os.listdir(tmp_path / "t-clusters")) == FILES[:-1]

    def test_without_any_output(self, tmp_path):
        (tmp_path / "t.csv").write_text(SIMPLE)
        command = f"{sys.executable} -m bhclust fit t.csv --no-plot >&- 2>&-"
        assert subprocess.run(command, shell=True, check=False, cwd=tmp_path).returncode == 0
        assert sorted(os.listdir(tmp_path / "t-clusters")) == FILES[:-1]

    def test_exit_code_of_an_error(self, tmp_path):
        done = in_shell("fit", "missing.csv", cwd=tmp_path, text=True)
        assert done.returncode == 1
        assert done.stdout == ""
        assert done.stderr == "error: missing.csv: no such file; check the name and the folder\n"


# Sends SIGINT from inside, when a module is looked for or a function of the system is called.
INTERRUPTED = """
import os, runpy, signal, sys

def interrupt_at(event, arguments):
    if WHEN(event, arguments):
        if not sent:
            sent.append(True)
            os.kill(os.getpid(), signal.SIGINT)

sent = []
WHEN = lambda event, arguments: {when}
sys.addaudithook(interrupt_at)
sys.argv = ["bhclust", "fit", "t.csv", *{options}]
from bhclust.cli import main
sys.exit(main())
"""


class TestInterrupts:
    @pytest.mark.parametrize(
        ("when", "written"),
        [
            *(
                (f"event == 'import' and arguments[0] == {name!r}", False)
                for name in (
                    "bhclust._core",
                    "numpy",
                    "bhclust.learning",
                    "click",
                    "bhclust._commands",
                    "bhclust.io",
                    "matplotlib",
                    "matplotlib.figure",
                    "bhclust._traits",
                )
            ),
            ("event == 'open' and str(arguments[0]).endswith('t.csv')", False),
            ("event == 'os.mkdir' and 't-clusters' in str(arguments[0])", False),
            ("event == 'open' and '.labels.csv' in str(arguments[0])", False),
            ("event == 'open' and '.summary.txt' in str(arguments[0])", False),
            ("event == 'os.rename' and str(arguments[1]).endswith('labels.csv')", True),
            ("event == 'os.rename' and str(arguments[1]).endswith('summary.txt')", True),
        ],
    )
    def test_at_any_moment(self, tmp_path, when, written):
        (tmp_path / "t.csv").write_text(SIMPLE)
        options = [] if "matplotlib" in when else ["--no-plot"]
        done = subprocess.run(
            [sys.executable, "-c", INTERRUPTED.format(when=when, options=options)],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
        )
        told = "the files in t-clusters are written" if written else "nothing was written"
        assert (done.returncode, done.stderr) == (130, f"error: interrupted; {told}\n")
        assert sorted(os.listdir(tmp_path)) == [*(["t-clusters"] if written else []), "t.csv"]
        if written:
            assert sorted(os.listdir(tmp_path / "t-clusters")) == FILES[:-1]

    def test_where_interrupts_are_ignored_they_stay_so(self, tmp_path):
        (tmp_path / "t.csv").write_text(SIMPLE)
        code = INTERRUPTED.format(
            when="event == 'import' and arguments[0] == 'bhclust.io'", options=["--no-plot"]
        )
        code = code.replace("sent = []", "sent = []; signal.signal(signal.SIGINT, signal.SIG_IGN)")
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
        )
        assert (done.returncode, done.stderr) == (0, "")

    def test_other_programs_keep_their_handler(self):
        code = (
            "import signal, bhclust, bhclust.cli; bhclust.cli.main(['--version']);"
            "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")


class TestProgress:
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    def test_a_bar_on_a_terminal_after_a_second(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", self.Terminal())
        with ProgressBar() as bar:
            bar.show(1, 10)
            assert sys.stderr.getvalue() == ""
            bar._begin -= 2
            bar.show(5, 10)
            bar.show(10, 10)
        assert "clustering" in sys.stderr.getvalue()

    def test_no_bar_elsewhere(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", io.StringIO())
        with ProgressBar() as bar:
            bar._begin -= 2
            bar.show(5, 10)
        assert sys.stderr.getvalue() == ""


def test_certainty_is_one_where_the_clusters_are_far_apart(run, table):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 2)) + 1000 * (np.arange(40) % 2)[:, None]
    text = "\n".join(["a,b", *(f"{a:.6f},{b:.6f}" for a, b in x)])
    run("fit", table(text), "--out", "o", "--no-plot")
    rows = read_labels("o")
    assert [int(row["cluster"]) for row in rows] in ([0, 1] * 20, [1, 0] * 20)
    assert min(float(row["certainty"]) for row in rows) > 0.9


class TestTimeSeriesAndHurdles:
    CURVES = "gene,a,b,c\n" + "".join(
        f"g{i},{0.1 * i:.1f},{(i % 2) * 5 + 0.1 * i:.1f},{(i % 2) * 9 - 0.1 * i:.1f}\n"
        for i in range(12)
    )

    def test_times(self, run, table):
        quick = ("--no-plot", "--no-report", "--hyperparameters", "data", "--force")
        series = ("fit", table(self.CURVES), "--family", "time-series", *quick)
        code, out, _ = run(*series, "--times", "0,1,10")
        assert code == 0
        assert "note: times, as given: 0, 1, 10" in out
        X = np.array([line.split(",")[1:] for line in self.CURVES.split()[1:]], dtype=float)
        family = bhclust.GaussianProcess.from_data(X, times=[0, 1, 10])
        found = bhclust.BHC(family, hyperparameters="data").fit(X)
        assert f"log evidence {found.log_evidence_:,.2f}" in out
        code, out, _ = run(*series)
        assert code == 0
        assert "note: times are 0, 1, 2, …" in out
        for wrong, told in (("0,x", "is no list of numbers"), ("0,1", "2 given for 3 columns")):
            code, _, err = run(*series, "--times", wrong)
            assert code in (1, 2)
            assert told in err
            assert err.count("\n") == 1

    def test_hurdle(self, run, table):
        rain = "wind,rain\n" + "".join(f"{i / 8},{(i % 3) * (i + 0.5)}\n" for i in range(30))
        for how in (("--column", "rain=hurdle"), ("--family", "hurdle")):
            code, out, err = run("fit", table(rain), *how, "--force")
            assert (code, err) == (0, "")
            assert "hurdle" in out
