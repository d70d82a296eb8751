"""Tables from files as people have them, and files that appear whole or not at all."""

import errno
import gzip
import os
import re
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bhclust
from bhclust.io import OutputFiles, Table, read_table

SIMPLE = "name,size,ill\nann,1.5,0\nbob,2.5,1\ncid,0.5,1\ndee,9.25,0\n"


@pytest.fixture
def table(tmp_path):
    def read(content: str | bytes, file: str = "table.csv", **options) -> Table:
        path = tmp_path / file
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_table(path, **options)

    return read


@pytest.fixture(scope="module")
def file(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("made") / "t.csv"


def column_of(values: list[object]) -> str:
    return "x,z\n" + "".join(f"{value},{place / 4}\n" for place, value in enumerate(values, 1))


def is_simple(found: Table) -> bool:
    return (
        found.names == ["ann", "bob", "cid", "dee"]
        and list(found.columns) == ["size", "ill"]
        and found.columns["size"].values.tolist() == [1.5, 2.5, 0.5, 9.25]
        and found.columns["ill"].values.tolist() == [0, 1, 1, 0]
    )


class TestFileForms:
    @pytest.mark.parametrize(
        "content",
        [
            SIMPLE.encode(),
            gzip.compress(SIMPLE.encode()),
            gzip.compress(SIMPLE[:20].encode()) + gzip.compress(SIMPLE[20:].encode()),
            b"\xef\xbb\xbf" + SIMPLE.encode(),
            SIMPLE.encode("utf-16"),
            SIMPLE.replace("\n", "\r\n").encode(),
            SIMPLE.replace("\n", "\r").encode(),
            SIMPLE.rstrip("\n").encode(),
            SIMPLE.replace(",", "\t").encode(),
            SIMPLE.replace(",", "|").encode(),
            SIMPLE.replace(",", ";").encode(),
            SIMPLE.replace(",", ", ").encode(),
            SIMPLE.replace(",", ";").replace(".", ",").encode(),
            SIMPLE.replace(",", "\t").replace(".", ",").encode(),
            re.sub(r"(\d)\.(\d+)", r'"\1,\2"', SIMPLE).encode(),
            re.sub(r"([^,\n]+)", r'"\1"', SIMPLE).encode(),
            (SIMPLE + "\n\n").encode(),
            SIMPLE.replace("bob", "\nbob").encode(),
            (SIMPLE + ",,\n,,\n").encode(),
            SIMPLE.replace("name,size", ",size").encode(),
            SIMPLE.replace("name,size", "size").encode(),
        ],
        ids=[
            "plain",
            "gzip",
            "gzip in two members",
            "byte-order mark",
            "UTF-16",
            "Windows line ends",
            "old Mac line ends",
            "no last line end",
            "tabs",
            "bars",
            "semicolons",
            "spaces after commas",
            "decimal commas and semicolons",
            "decimal commas and tabs",
            "decimal commas in quotes",
            "all quoted",
            "blank lines at the end",
            "blank line in the middle",
            "rows without values at the end",
            "name column without a header",
            "row names as R writes them",
        ],
    )
    def test_all_read_the_same(self, table, content):
        assert is_simple(table(content, "anything.txt"))

    def test_trailing_separators_are_an_empty_column(self, table):
        rows = SIMPLE.splitlines()
        found = table("\n".join([rows[0], *(row + "," for row in rows[1:])]))
        assert is_simple(found)
        assert found.set_aside["column 4"] == "no values"

    def test_quoted_cells_keep_separators_quotes_and_line_ends(self, table):
        found = table('name,x\n"a, b",1.5\n"say ""c""",2.5\n"two\nlines",3.5\n')
        assert found.names == ["a, b", 'say "c"', "two\nlines"]

    def test_windows_1252_is_read_and_said(self, table):
        found = table("name,x\nMüller,1.5\nGroß,2.5\nan,3.5\n".encode("cp1252"))
        assert found.names == ["Müller", "Groß", "an"]
        assert any("Windows-1252" in note for note in found.notes)

    def test_decimal_commas_are_said(self, table):
        assert any("decimal commas" in note for note in table("a;b\n1,5;2,5\n2,5;1\n").notes)

    def test_semicolon_file_without_header_is_not_cut_at_decimal_commas(self, table):
        found = table("1,5;2,25\n3,5;4,75\n5,5;6,5\n")
        assert found.columns["column 1"].values.tolist() == [1.5, 3.5, 5.5]
        assert found.columns["column 2"].values.tolist() == [2.25, 4.75, 6.5]

    @pytest.mark.parametrize("value", ["", "NA", "na", "NaN", "nan", "?", "N/A", "NULL", "#N/A"])
    def test_missing(self, table, value):
        found = table(f"a,b\n1.5,x\n{value},y\n2.5,x\n3.5,{value}\n4.5,y\n")
        assert np.isnan(found.columns["a"].values[1])
        assert found.columns["b"].levels == ("x", "y")
        assert [column.n_missing for column in found.columns.values()] == [1, 1]

    def test_bytes_after_sample_are_read(self, table):
        found = table("a,b\n" + "".join(f"{i / 7},{i % 2}\n" for i in range(5000)))
        assert found.n_rows == 5000
        assert found.columns["a"].values[4999] == 4999 / 7


class TestHeader:
    def test_no_header_among_numbers(self, table):
        found = table("1.5,2\n2.5,3\n0.5,4\n")
        assert found.n_rows == 3
        assert "column 1" in found.columns
        assert any("no header" in note for note in found.notes)

    def test_no_header_among_texts(self, table):
        assert table("red,yes\nred,no\nblue,no\nblue,yes\n").n_rows == 4

    def test_header_over_texts(self, table):
        assert table("colour,ok\nred,yes\nred,no\nblue,no\nblue,yes\n").n_rows == 4

    def test_sodium_is_no_missing_value(self, table):
        assert list(table("Na,Mg\n1.5,2.5\n2.5,1.25\n").columns) == ["Na", "Mg"]

    def test_years_as_header_can_be_asked_for(self, table):
        text = "2001,2002\n1.5,2.5\n2.5,1.5\n"
        assert table(text).n_rows == 3
        assert list(table(text, header=True).columns) == ["2001", "2002"]


class TestKinds:
    @pytest.mark.parametrize(
        ("values", "family", "codes", "levels"),
        [
            ([0, 1, 1, 0], "bernoulli", [0, 1, 1, 0], ("0", "1")),
            (["1.0", "0.0", "1.0"], "bernoulli", [1, 0, 1], ("0", "1")),
            (["yes", "No", "YES"], "bernoulli", [1, 0, 1], ("no", "yes")),
            (["T", "F", "T"], "bernoulli", [1, 0, 1], ("f", "t")),
            (["b", "a", "b", "a"], "categorical", [1, 0, 1, 0], ("a", "b")),
            ([0, 2, 5] * 3, "categorical", [0, 1, 2] * 3, ("0", "2", "5")),
            ([1, 2, 3] * 3, "categorical", [0, 1, 2] * 3, ("1", "2", "3")),
            ([-1, 0, 1] * 3, "categorical", [0, 1, 2] * 3, ("-1", "0", "1")),
            ([0, 1, 2] * 3, "poisson", [0, 1, 2] * 3, ()),
            ([0, 2, 5], "poisson", [0, 2, 5], ()),
            ([1, 5, 900], "poisson", [1, 5, 900], ()),
            ([0, 5, 90000], "gaussian-diag", [0, 5, 90000], ()),
            ([30, 45, 61], "gaussian-diag", [30, 45, 61], ()),
            ([-3, 45, 61], "gaussian-diag", [-3, 45, 61], ()),
            ([0.5, 1, 2], "gaussian-diag", [0.5, 1, 2], ()),
            (["1e-30", "2e30", "-3"], "gaussian-diag", [1e-30, 2e30, -3], ()),
        ],
    )
    def test_sniffed(self, table, values, family, codes, levels):
        column = table(column_of(values)).columns["x"]
        assert (column.family, column.levels) == (family, levels)
        assert column.values.dtype == np.float64
        assert column.values.tolist() == codes

    @pytest.mark.parametrize(
        ("values", "why"),
        [
            (["", "", "NA"], "no values"),
            ([7, 7, 7], "the same value"),
            (["7", "7.0", "7"], "the same value"),
            (["a", "", "a"], "the same value"),
            ([1, 2, 3, 4], "numbers the rows"),
            ([0, 1, 2, 3], "numbers the rows"),
            ([f"word {i % 40}" for i in range(60)], "40 different texts"),
            ([f"2020-01-{i:02d}" for i in (1, *range(1, 21))], "dates"),
        ],
    )
    def test_set_aside(self, table, values, why):
        found = table(column_of(values))
        assert "x" not in found.columns
        assert why in found.set_aside["x"]

    def test_levels_do_not_depend_on_the_order_of_rows(self, table):
        rows = ["b", "a", "c"] * 2
        for order in (rows, rows[::-1]):
            assert table(column_of(order)).columns["x"].levels == ("a", "b", "c")

    def test_numeric_levels_are_in_numeric_order(self, table):
        assert table(column_of([10, 2, 7] * 3)).columns["x"].levels == ("2", "7", "10")

    @pytest.mark.parametrize("head", ["id", "ID", "Name", "patient_id", "sample id"])
    def test_numbers_that_differ_under_such_a_name_name_the_rows(self, table, head):
        found = table(f"{head},x\n17,1.5\n4,2.5\n12,0.5\n")
        assert found.names == ["17", "4", "12"]

    def test_names_may_repeat_and_be_missing(self, table):
        found = table("name,x\nfrog,1.5\nfrog,2.5\n,0.5\nnewt,3.5\ntoad,1.5\n")
        assert found.names == ["frog", "frog", "row 3", "newt", "toad"]

    def test_without_names_rows_are_numbered(self, table):
        found = table("a,b\n1.5,2.5\n2.5,1.5\n")
        assert found.names is None
        assert found.row_names == ["row 1", "row 2"]

    def test_levels_that_differ_late_keep_names_of_their_own(self, table):
        found = table(column_of(["1234567890123456", "1234567890123458", "0.1"] * 3))
        levels = table(column_of([f"123456789012{i}" for i in (1, 2, 9)] * 3)).columns["x"].levels
        assert found.columns["x"].family == "gaussian-diag"
        assert levels == ("1234567890121", "1234567890122", "1234567890129")


class TestRowNumbers:
    @pytest.mark.parametrize(
        ("content", "numbers", "lines"),
        [
            ("a,b\n1.5,2\n2.5,3\n3.5,1\n", [1, 2, 3], [2, 3, 4]),
            ("a,b\n1.5,2\n,\n2.5,3\n,\n,\n3.5,1\n,\n", [1, 3, 6], [2, 4, 7]),
            ("a,b\n1.5,2\n\n2.5,3\n\n\n3.5,1\n", [1, 2, 3], [2, 4, 7]),
            ("\n\na,b\n1.5,2\n\n,\n2.5,3\n3.5,1\n", [1, 3, 4], [4, 7, 8]),
            (",\na,b\n1.5,2\n2.5,3\n3.5,1\n", [1, 2, 3], [3, 4, 5]),
            ("1.5,2\n,\n2.5,3\n3.5,1\n", [1, 3, 4], [1, 3, 4]),
            (",\n1.5,2\n2.5,3\n3.5,1\n", [1, 2, 3], [2, 3, 4]),
            ('a,b\n1.5,"x\ny"\n,\n2.5,z\n3.5,u\n', [1, 3, 4], [2, 5, 6]),
            ("a\n1.5\n\n2.5\n3.5\n", [1, 2, 3], [2, 4, 5]),
        ],
    )
    def test_blank_rows_shift_nothing(self, table, content, numbers, lines):
        found = table(content)
        assert list(found.numbers) == numbers
        assert list(found.lines) == lines
        assert found.n_rows == 3
        assert found.columns[next(iter(found.columns))].values[0] == 1.5
        if found.names is None:
            assert found.row_names == [f"row {number}" for number in numbers]

    @pytest.mark.parametrize("blank", [[], [0], [2, 3], [5], [0, 1, 5]])
    @pytest.mark.parametrize("lines", [[], [1], [0, 4, 4]])
    def test_they_are_those_of_pandas(self, table, tmp_path, blank, lines):
        pd = pytest.importorskip("pandas")
        rows = [f"{i}.5,{i * i % 7}.25" for i in range(6)]
        for place in blank:
            rows[place] = ","
        for place in lines:
            rows.insert(place, "")
        found = table("a,b\n" + "\n".join(rows) + "\n")
        frame = pd.read_csv(tmp_path / "table.csv").iloc[np.array(found.numbers) - 1]
        assert frame["a"].tolist() == found.columns["a"].values.tolist()
        text = (tmp_path / "table.csv").read_text().split("\n")
        assert [text[line - 1].split(",")[0] for line in found.lines] == [
            f"{value}" for value in found.columns["a"].values
        ]

    def test_a_row_without_a_name_gets_its_number(self, table):
        found = table("name,x\n,\nann,1.5\n,2.5\nbob,0.5\ncid,3.5\n")
        assert found.names == ["ann", "row 3", "bob", "cid"]

    @pytest.mark.parametrize(
        ("blank", "told"),
        [
            (1, "1 row without any value skipped (line 3)"),
            (2, "2 rows without any value skipped (lines 3, 4)"),
            (7, "7 rows without any value skipped (lines 3, 4, 5, 6, 7, …)"),
        ],
    )
    def test_what_is_skipped_is_said(self, table, blank, told):
        assert told in table("a,b\n1.5,2\n" + ",\n" * blank + "2.5,1\n").notes


class TestKnownClasses:
    @staticmethod
    def text(head: str, values: list[object], head2: str = "x") -> str:
        rows = [f"{value},{place / 7:.3f}\n" for place, value in enumerate(values)]
        return f"{head},{head2}\n" + "".join(rows)

    @pytest.mark.parametrize(
        "head", ["class", "Target", "LABEL", "labels", "species", "cluster", "true_label"]
    )
    @pytest.mark.parametrize("values", [["u", "v", "v"] * 4, [0, 1, 1] * 4, [1, 2, 5] * 4])
    def test_they_are_compared_with_and_not_clustered_on(self, table, head, values):
        found = table(self.text(head, values))
        assert list(found.columns) == ["x"]
        assert found.target == [str(value) for value in values]
        assert f"--column {head}=categorical" in found.set_aside[head]
        assert f"'{head}' looks like known classes: only compared with" in found.notes

    def test_missing_classes_are_empty(self, table):
        assert table(self.text("class", ["u", "", "v"] * 4)).target == ["u", "", "v"] * 4

    @pytest.mark.parametrize(
        ("head", "values"),
        [
            ("pclass", [1, 2, 5] * 4),
            ("class of 1995", ["u", "v"] * 6),
            ("target", [place / 3 for place in range(12)]),
            ("target", [0.5, 1.5] * 6),
            ("cluster", list(range(5, 17))),
        ],
    )
    def test_other_columns_are_clustered_on(self, table, head, values):
        found = table(self.text(head, values))
        assert list(found.columns) == [head, "x"]
        assert found.target is None

    def test_asking_for_the_column_uses_it(self, table):
        found = table(self.text("class", ["u", "v"] * 6), columns={"class": "categorical"})
        assert list(found.columns) == ["class", "x"]
        assert (found.target, found.notes) == (None, ())

    def test_ignoring_it_compares_with_nothing(self, table):
        found = table(self.text("class", ["u", "v"] * 6), ignore=["class"])
        assert found.target is None
        assert found.set_aside["class"] == "left out as asked"

    def test_a_family_for_all_is_not_for_the_classes(self, table):
        found = table(self.text("species", ["u", "v"] * 6), family="gaussian")
        assert found.family == "gaussian"
        assert found.target == ["u", "v"] * 6

    def test_a_target_that_is_asked_for_wins(self, table):
        text = self.text("class", ["u", "v"] * 6, "y")
        found = table(text, target="y")
        assert found.target is not None
        assert found.target[1] == "0.143"
        assert "class" in found.set_aside

    def test_of_two_the_first_is_the_target(self, table):
        rows = "".join(f"{i / 7:.3f},{i % 2},{i % 3}\n" for i in range(12))
        found = table("x,label,class\n" + rows)
        assert found.target == [str(i % 2) for i in range(12)]
        assert list(found.columns) == ["x"]


class TestOneFamilyForAll:
    TEXT = "id,note,x\n" + "".join(f"{10 + i * i},say {i % 7},{i / 3:.2f}\n" for i in range(12))

    @pytest.mark.parametrize("family", ["gaussian", "bernoulli", "poisson"])
    def test_free_text_is_set_aside_with_a_word(self, table, family):
        text = re.sub(r"\d+\.\d+", "1", self.TEXT).replace(",1\n", ",0\n", 4)
        why = table(text, family=family).set_aside["note"]
        assert why == f"7 different texts in 12 rows; so not read as {family}"

    def test_categories_may_be_as_many_as_there_are(self, table):
        assert len(table(self.TEXT, family="categorical").columns["note"].levels) == 7

    def test_dates_may_be_categories(self, table):
        text = "day,x\n" + "".join(f"2020-01-{i % 12 + 1:02d},{i % 2}\n" for i in range(24))
        assert "so not read as poisson" in table(text, family="poisson").set_aside["day"]
        assert len(table(text, family="categorical").columns["day"].levels) == 12

    def test_few_texts_are_refused(self, table):
        with pytest.raises(ValueError, match="line 2, column 'z': 'u' is not a number, and family"):
            table("z,x\n" + "u,1.5\nv,2.5\n" * 6, family="gaussian")


class TestOptions:
    def test_one_family_for_all(self, table):
        found = table("a,b\n1,2\n2,9\n3,0\n5,1\n", family="gaussian")
        assert found.family == "gaussian"
        assert found.data.tolist() == [[1, 2], [2, 9], [3, 0], [5, 1]]

    def test_columns_of_several_kinds(self, table):
        found = table(SIMPLE)
        assert found.family == {"size": "gaussian-diag", "ill": "bernoulli"}
        assert list(found.data) == ["size", "ill"]

    def test_column_as_asked(self, table):
        found = table(SIMPLE, columns={"ill": "poisson", "name": "categorical"})
        assert found.columns["ill"].family == "poisson"
        assert found.columns["name"].levels == ("ann", "bob", "cid", "dee")
        assert found.names is None

    def test_bernoulli_from_two_texts(self, table):
        column = table(column_of(["m", "f", "m"]), columns={"x": "bernoulli"}).columns["x"]
        assert column.levels == ("f", "m")
        assert column.values.tolist() == [1, 0, 1]

    def test_ignore_target_names(self, table):
        text = "a,b,c,d\nx,1.5,u,1\ny,2.5,?,0\nz,3.5,u,1\n"
        found = table(text, ignore=["d"], target="c", names="a")
        assert list(found.columns) == ["b"]
        assert found.target == ["u", "", "u"]
        assert found.names == ["x", "y", "z"]
        assert set(found.set_aside) == {"a", "c", "d"}

    def test_a_text_is_no_list_of_columns(self, table):
        with pytest.raises(TypeError, match="ignore must be a list of columns, not 'ill'; write"):
            table(SIMPLE, ignore="ill")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"ignore": ["sise"]}, r"ignore: .*no column 'sise'; did you mean 'size'\?"),
            ({"target": "q"}, r"target: .*no column 'q'; its columns are name, size, ill"),
            ({"names": "q"}, "names: .*no column 'q'"),
            ({"columns": {"q": "poisson"}}, "columns: .*no column 'q'"),
            ({"columns": {"ill": "poison"}}, "family: 'poison' is not known; choose from gaussian"),
            ({"family": "normal"}, "family: 'normal' is not known"),
            (
                {"target": "name", "names": "name"},
                "names: 'name' is named by target too; a column has",
            ),
            ({"target": "ill", "ignore": ["ill"]}, "target: 'ill' is named by ignore too"),
            ({"ignore": ["ill"], "columns": {"ill": "poisson"}}, "ignore: 'ill' is named by colum"),
            ({"names": "name", "columns": {"name": "categorical"}}, "names: 'name' is named by co"),
            ({"names": "ill", "ignore": ["ill"]}, "names: 'ill' is named by ignore too"),
            ({"columns": {"size": "poisson"}}, "line 2, column 'size': '1.5' does not fit"),
            ({"columns": {"ill": "exponential"}}, "line 2, column 'ill': '0' does not fit"),
            ({"columns": {"size": "bernoulli"}}, "column 'size': '2.5' is a third value"),
            ({"columns": {"name": "gaussian"}}, "line 2, column 'name': 'ann' is not a number"),
        ],
    )
    def test_refused(self, table, options, message):
        with pytest.raises(ValueError, match=message):
            table(SIMPLE, **options)


class TestBadFiles:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "the file is empty"),
            (b"\n \n", "the file is empty"),
            (b"\xef\xbb\xbf", "the file is empty"),
            (b",,\n,,\n", "no cell of the file has a value"),
            (b"a,b\n", "a header in line 1, but no row below it"),
            (b"a,b\n1,2\n3\n", "line 3 has 1 cell, line 1 has 2; fill up"),
            (b"a,b\n1,2\n\n3,4,5\n", "line 4 has 3 cells, line 1 has 2"),
            (b'a,b\n"1\n",2\n3\n', "line 4 has 1 cell, line 1 has 2"),
            (b"1,2\n1,2\n3\n", "line 3 has 1 cell, line 1 has 2"),
            (b"a,b,a\n1,2,3\n", "columns 1 and 3 are both called 'a'; rename one"),
            (b'a,b\n"1"x,2\n', "line 2 cannot be read .*quotes"),
            (b'a,b\n1,"2\n3,4\n', "line 2 cannot be read .*quotes"),
            (b"a b\n1 2\n3 4\n", "separated by spaces"),
            (b"\x89PNG\r\n\x1a\n\x00\x00", "binary file"),
            (bytes(range(256)), "binary file"),
            (b"PK\x03\x04abc", "Excel workbook.*save it as CSV"),
            (b"BZh91AY", "packed by bzip2"),
            (gzip.compress(SIMPLE.encode())[:-12], "gzip file is damaged"),
            (gzip.compress(b"PK\x03\x04abc"), "Excel workbook"),
            (b"\x1f\x8bnonsense", "gzip file is damaged"),
            (b"a,b\n1.5,1\ninf,2\n2.5,9\n", "line 3, column 'a': 'inf' is not a finite number"),
            (b"a,b\n1.5,1\n1e999,2\n2.5,9\n", "line 3, column 'a': '1e999' is not a finite"),
            (b"a,b\ninf,1\ninf,2\ninf,9\n", "line 2, column 'a': 'inf' is not a finite number"),
            (b"a,b\n,1\n-inf,2\n,9\n", "line 3, column 'a': '-inf' is not a finite number"),
            (b"a,b\n1.5,1\n1e308,2\n-1e308,9\n", "line 3, column 'a': '1e308' is too large"),
            (b"a,b\n0,1\n1e308,2\n-1e308,9\n", "line 3, column 'a': '1e308' is too large"),
            (b"a,b\n1,1\n-1e150,2\n2,9\n", "'-1e150' is too large .* below 1e150 in magnitude"),
            (b"a,b\n1.5,1\n%s,2\n0,9\n" % (b"9" * 300), "'9{40}… .300 characters.' is too large"),
            (b'a,b\n"1,234",1\n"2,345",0\n', "line 2, column 'a': '1,234' looks like a number"),
            (b"a;b\n1,5;1.5\n2,5;2.5\n", "line 2, column 'b': '1.5' has a decimal point"),
            (b"a,b\n45%,1\n55%,0\n65%,1\n", "column 'a': '45%' looks like a number"),
            (b"a,b\n1_000,1\n5,0\n65,1\n", "column 'a': '1_000'"),
        ],
    )
    def test_refused(self, table, content, message):
        with pytest.raises(ValueError, match=message) as caught:
            table(content)
        assert "table.csv: " in str(caught.value)

    @pytest.mark.parametrize(
        ("family", "value", "message"),
        [
            ("poisson", "18014398509481984", r"is beyond 2\^53 .* not exact.*'a=gaussian-diag'"),
            ("multinomial", "1e300", r"'1e300' is beyond 2\^53"),
            ("geometric", "1e16", r"beyond 2\^53"),
            ("negative-binomial", "9007199254740994", r"beyond 2\^53"),
            ("poisson", "0.5", "'0.5' does not fit family 'poisson', which needs whole numbers"),
            ("gaussian", "1e200", "below 1e150 in magnitude.*--ignore 'a'"),
            ("gaussian-spherical", "-1e308", "below 1e150 in magnitude"),
            ("exponential", "1e301", "below 1e300 in magnitude"),
        ],
    )
    def test_numbers_that_are_too_large(self, table, family, value, message):
        with pytest.raises(ValueError, match=f"line 3, column 'a': .*{message}"):
            table(f"a,b\n1,1\n{value},2\n3,9\n", columns={"a": family})

    @pytest.mark.parametrize("family", ["poisson", "multinomial", "geometric", "negative-binomial"])
    def test_counts_are_exact_up_to_2_to_the_53(self, table, family):
        found = table("a,b\n1,1\n9007199254740992,2\n3,9\n", columns={"a": family})
        assert found.columns["a"].values[1] == 2**53
        assert bhclust.BHC(found.family).fit(found.data).labels_.shape == (3,)

    @pytest.mark.parametrize("family", [None, "gaussian", "gaussian-spherical"])
    def test_numbers_that_are_too_small(self, table, family):
        text = "a,b\n1e-200,1\n,5\n-3.5e-199,2\n2e-200,9\n"
        columns = {} if family is None else {"a": family}
        with pytest.raises(ValueError, match=r"line 4, column 'a': '-3.5e-199' .*above 1e-150"):
            table(text, columns=columns)
        small = table(text.replace("2e-200", "2e-149"), columns=columns).columns["a"]
        assert small.values[3] == 2e-149

    def test_more_categories_than_there_may_be(self, table):
        text = "w,x\n" + "".join(f"w{i:04d},{i}\nw{i:04d},{i}\n" for i in range(4097))
        for options in ({"columns": {"w": "categorical"}}, {"family": "categorical"}):
            with pytest.raises(ValueError, match=r"line 8194, column 'w': 'w4096' is one of 4,097"):
                table(text, **options)

    def test_a_quote_that_is_not_closed_in_a_large_file(self, table):
        with pytest.raises(ValueError, match=r"line 2 cannot be read .*a quote that is not closed"):
            table('a,b\n"1.5,2\n' + "2.5,3\n" * 30000)

    def test_large_numbers_are_told_in_short(self, table):
        why = table("a,b\n-1e140,1\n2e140,2\n7,9\n").columns["a"].why
        assert why == "whole numbers from -1e+140 to 2e+140, some below zero"
        why = table("a,b\n1000000000000001,1\n1000000000000005,2\n7,9\n").columns["a"].why
        assert why.startswith("whole numbers from 7 to 1,000,000,000,000,005, none near zero")
        why = table("a,b\n" + "1e140,1\n2e140,2\n7,9\n" * 3).columns["a"].why
        assert why.endswith("some left out: 7, 1e+140, 2e+140")

    def test_long_cells_are_told_in_short(self, table):
        for text in (f"b,a\n1,{'x' * 9999}\n2,3\n", f"{'b' * 9999},a\n1,x\n2,3\n"):
            with pytest.raises(ValueError, match=r"… \(9,999 characters\)") as caught:
                table(text, columns={"a": "poisson", "b": "poisson"})
            assert len(str(caught.value)) < 600

    @pytest.mark.parametrize("path", ["", "a\0b"])
    def test_what_can_be_no_name_of_a_file(self, path):
        with pytest.raises(ValueError, match="this cannot be the name of a file; check it"):
            read_table(path)

    def test_text_in_a_column_of_numbers(self, table):
        values = [f"{i}.5" for i in range(20)]
        values[7] = "unknown"
        with pytest.raises(ValueError, match="line 9, column 'x': 'unknown' is text in a column"):
            table(column_of(values))

    def test_missing_file_and_folder(self, tmp_path):
        with pytest.raises(ValueError, match=r"nothing\.csv: no such file; check the name"):
            read_table(tmp_path / "nothing.csv")
        with pytest.raises(ValueError, match="is a folder; name a file in it"):
            read_table(tmp_path)

    @settings(max_examples=300, deadline=None)
    @given(st.binary(max_size=200))
    def test_any_bytes_give_a_table_or_a_value_error(self, file, content):
        file.write_bytes(content)
        check_read(file)

    @settings(max_examples=300, deadline=None)
    @given(st.text(alphabet='abN1290.,;-?"\n\t x', max_size=120))
    def test_any_text_gives_a_sound_table_or_a_value_error(self, file, content):
        file.write_text(content, newline="")
        check_read(file)


def read(file: Path) -> Table | str:
    try:
        return read_table(file)
    except ValueError as error:
        return str(error)
    except ImportError as error:
        if "pip install" not in str(error):
            raise
        return f"{file}: {error}"


def check_read(file: Path) -> None:
    found = read(file)
    if isinstance(found, str):
        assert str(file) in found
    else:
        check_sound(found)


def check_sound(found: Table) -> None:
    assert found.n_rows >= 1
    assert found.names is None or len(found.names) == found.n_rows
    for column in found.columns.values():
        assert column.values.shape == (found.n_rows,)
        present = column.values[~np.isnan(column.values)]
        assert np.isfinite(present).all()
        assert len(np.unique(present)) > 1
        if column.levels:
            assert np.isin(present, np.arange(len(column.levels))).all()


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.floats(-9e149, 9e149).filter(lambda value: value == 0 or abs(value) > 1e-150),
            st.sampled_from(["red", "green", "a, b", 'the "x"']),
        ),
        min_size=2,
        max_size=20,
    ),
    st.sampled_from([",", ";", "\t"]),
)
def test_numbers_come_back_to_the_bit(file, rows, separator):
    quoted = ['"' + text.replace('"', '""') + '"' for _, text in rows]
    lines = [f"{value!r}{separator}{text}" for (value, _), text in zip(rows, quoted, strict=True)]
    file.write_text("\n".join([f"v{separator}w", *lines]))
    found = read_table(file, columns={"v": "gaussian", "w": "categorical"})
    assert found.columns["v"].values.tolist() == [value for value, _ in rows]
    words = found.columns["w"]
    assert [words.levels[int(code)] for code in words.values] == [text for _, text in rows]


class TestOutputFiles:
    def test_all_appear(self, tmp_path):
        with OutputFiles(tmp_path / "a" / "b") as files:
            files.add("x.txt", "ä")
            files.add("y.bin", b"\x00")
            assert not (tmp_path / "a" / "b" / "x.txt").exists()
        assert (tmp_path / "a" / "b" / "x.txt").read_bytes() == "ä".encode()
        assert (tmp_path / "a" / "b" / "y.bin").read_bytes() == b"\x00"
        assert sorted(os.listdir(tmp_path / "a" / "b")) == ["x.txt", "y.bin"]

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    def test_none_appear_on_failure(self, tmp_path, error):
        def half() -> None:
            with OutputFiles(tmp_path / "a" / "b") as files:
                files.add("x.txt", "x")
                raise error

        with pytest.raises(error):
            half()
        assert os.listdir(tmp_path) == []

    def test_a_failure_keeps_what_was_there(self, tmp_path):
        (tmp_path / "x.txt").write_text("old")

        def half() -> None:
            with OutputFiles(tmp_path, replace=True) as files:
                files.add("x.txt", "new")
                files.add("no/such/place.txt", "")

        with pytest.raises(OSError, match="place"):
            half()
        assert (tmp_path / "x.txt").read_text() == "old"
        assert os.listdir(tmp_path) == ["x.txt"]

    def test_refuses_to_replace(self, tmp_path):
        (tmp_path / "x.txt").write_text("old")
        with pytest.raises(ValueError, match=r"x\.txt: exists already; name another"):
            OutputFiles(tmp_path).check(["y.txt", "x.txt"])
        with OutputFiles(tmp_path, replace=True) as files:
            files.add("x.txt", "new")
        assert (tmp_path / "x.txt").read_text() == "new"

    def test_refuses_a_file_as_folder_and_a_folder_as_file(self, tmp_path):
        (tmp_path / "x").write_text("old")
        (tmp_path / "d").mkdir()
        with pytest.raises(ValueError, match="x: is a file; name a folder"):
            OutputFiles(tmp_path / "x").check(["y"])
        with pytest.raises(ValueError, match="d: is a folder where a file is to go"):
            OutputFiles(tmp_path, replace=True).check(["d"])

    @pytest.mark.parametrize(
        ("place", "message"),
        [
            ("there", "there: is a file; name a folder"),
            ("there/deeper", "there: is a file; name a folder"),
            ("nowhere", "nowhere: is a file; name a folder"),
            ("x" * 300, "cannot be written: .*long; choose a shorter name"),
            ("y/" + "x" * 300, "cannot be written: .*long; choose a shorter name"),
            ("a\0b", "this cannot be the name of a folder"),
        ],
    )
    def test_places_where_nothing_can_go(self, tmp_path, place, message):
        (tmp_path / "there").write_text("")
        (tmp_path / "nowhere").symlink_to("gone")
        with pytest.raises((ValueError, OSError), match=message) as caught:
            OutputFiles(tmp_path / place).check(["x.txt"])
        assert len(str(caught.value)) < 300
        assert "[Errno" not in str(caught.value)

    def test_a_folder_that_may_not_be_written_to(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(PermissionError, match=r"new: cannot be written: .*you may write to"):
            OutputFiles(tmp_path / "new").check(["x.txt"])

    @pytest.mark.parametrize("step", ["mkdir", "fsync", "replace"])
    @pytest.mark.parametrize(
        ("code", "remedy"),
        [(errno.ENOSPC, "free some space"), (errno.EACCES, "may write to"), (errno.EIO, "another")],
    )
    def test_errors_of_the_system_name_path_and_remedy(
        self, tmp_path, monkeypatch, step, code, remedy
    ):
        def fail(*_):
            raise OSError(code, os.strerror(code))

        def write():
            with OutputFiles(tmp_path / "o", replace=True) as files:
                files.add("x.txt", "x")

        monkeypatch.setattr(os, step, fail)
        with pytest.raises(OSError, match=rf"/o.*: cannot be written: .*{remedy}") as caught:
            write()
        assert caught.value.errno == code
        assert os.listdir(tmp_path) == []

    def test_a_failure_while_files_are_replaced_brings_the_old_ones_back(
        self, tmp_path, monkeypatch
    ):
        for name in "ab":
            (tmp_path / name).write_text("old")
        replace = os.replace

        def fail_at_b(source, target):
            if Path(target).name == "b" and Path(source).suffix == ".tmp":
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            replace(source, target)

        def write():
            with OutputFiles(tmp_path, replace=True) as files:
                for name in "abc":
                    files.add(name, "new")

        monkeypatch.setattr(os, "replace", fail_at_b)
        with pytest.raises(OSError, match="b: cannot be written"):
            write()
        assert {name: (tmp_path / name).read_text() for name in os.listdir(tmp_path)} == {
            "a": "old",
            "b": "old",
        }
        monkeypatch.undo()
        write()
        assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]

    @pytest.mark.parametrize("call", range(1, 12))
    @pytest.mark.parametrize("old", [False, True])
    def test_an_interrupt_at_any_moment_leaves_all_or_nothing(
        self, tmp_path, monkeypatch, call, old
    ):
        names = ["a", "b"]
        if old:
            for name in names:
                (tmp_path / name).write_text("old")
        calls = 0

        def interrupting(function):
            def run(*arguments, **options):
                nonlocal calls
                calls += 1
                if calls == call:
                    signal.raise_signal(signal.SIGINT)
                return function(*arguments, **options)

            return run

        def write():
            with files:
                for name in names:
                    files.add(name, "new")
                files.add("c", "new")
            signal.raise_signal(signal.SIGINT)

        files = OutputFiles(tmp_path, replace=True)
        for step in ("fsync", "replace", "access", "unlink"):
            monkeypatch.setattr(os, step, interrupting(getattr(os, step)))
        handler = signal.getsignal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            write()
        there = {name: (tmp_path / name).read_text() for name in os.listdir(tmp_path)}
        before = dict.fromkeys(names, "old") if old else {}
        assert there == (dict.fromkeys("abc", "new") if files.written else before)
        assert signal.getsignal(signal.SIGINT) is handler

    def test_other_threads_write_too(self, tmp_path):
        def write():
            with OutputFiles(tmp_path) as files:
                files.add("x", "x")

        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
        assert os.listdir(tmp_path) == ["x"]

    def test_text_with_bytes_of_a_file_name_in_it(self, tmp_path):
        with OutputFiles(tmp_path) as files:
            files.add("x", os.fsdecode(b"t\xff.csv"))
        assert (tmp_path / "x").read_text() == "t?.csv"

    def test_files_get_the_usual_rights(self, tmp_path):
        usual = tmp_path / "usual"
        usual.touch()
        with OutputFiles(tmp_path) as files:
            files.add("x.txt", "x")
        assert (tmp_path / "x.txt").stat().st_mode == usual.stat().st_mode


class TestTimeSeries:
    CURVES = "gene,0,0.5,2,7\na,0,1,3,2\nb,0,2,1,4\nc,0,1,0,-1\nd,0,2,2,2.5\n"

    def test_names_that_are_numbers_are_the_times(self, table):
        for header in (None, True):
            found = table(self.CURVES, family="time-series", header=header)
            assert list(found.times) == [0.0, 0.5, 2.0, 7.0]
            assert found.names == list("abcd")
            assert list(found.columns) == ["0", "0.5", "2", "7"]
            assert any(
                "times, from the names of the columns: 0, 0.5, 2, 7" in n for n in found.notes
            )
            series = bhclust.GaussianProcess.from_data(found.data, times=found.times)
            assert bhclust.bhc(found.data, series).n_leaves == 4
        assert any(
            note.startswith("line 1, whose numbers rise")
            for note in table(self.CURVES, family="time-series").notes
        )

    def test_a_first_line_that_rises_among_others_that_do_is_a_row(self, table):
        growth = "0,1,2\n1,2,3\n0,2,5\n1,3,4\n"
        assert table(growth, family="time-series").n_rows == 4
        assert table("0,1,2\n3,1,2\n5,2,1\n", family="time-series").n_rows == 2
        assert table("0,1,2\n3,1,2\n5,2,1\n", family="time-series", header=False).n_rows == 3

    def test_other_names_and_times_given(self, table):
        named = self.CURVES.replace("0,0.5,2,7", "w,x,y,z", 1)
        found = table(named, family="time-series")
        assert list(found.times) == [0.0, 1.0, 2.0, 3.0]
        assert any("times are 0, 1, 2, …" in note for note in found.notes)
        given = table(named, family="time-series", times=[0, 3, 4, 9])
        assert list(given.times) == [0.0, 3.0, 4.0, 9.0]
        with pytest.raises(ValueError, match=r"times: 2 given for 4 columns \(w, x, y, z\)"):
            table(named, family="time-series", times=[0, 3])
        with pytest.raises(ValueError, match=r"times: given for a table that is not all time ser"):
            table(named, times=[0, 3, 4, 9])

    def test_hurdles_are_a_mapping(self, table):
        rain = "rain,wind\n" + "".join(f"{(i % 3) * 1.25},{i / 4}\n" for i in range(9))
        found = table(rain, family="hurdle")
        assert found.family == {"rain": "hurdle", "wind": "hurdle"}
        assert bhclust.BHC(found.family).fit(found.data).n_features_in_ == 2
        assert table(rain, columns={"rain": "hurdle"}).family["wind"] == "gaussian-diag"
