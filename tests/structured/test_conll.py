"""CoNLL files: reading, refusals with their line, and writing."""

from __future__ import annotations

import gzip
import pickle

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from wald.datasets import make_trees
from wald.structured import DependencyParser, Treebank


def line(number, form="x", head="0", deprel="root", *, upos="NOUN", xpos="NN"):
    return f"{number}\t{form}\tx\t{upos}\t{xpos}\t_\t{head}\t{deprel}\t_\t_\n"


GOOD = (
    "# sent_id = 1\n# text = vámonos al mar\n"
    "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + line(1, "vamos")
    + line(2, "nos", 1, "obj")
    + "2.1\te\te\t_\t_\t_\t_\t_\t1:x\tCopyOf=1\n2.2\te\te\t_\t_\t_\t_\t_\t1:x\t_\n"
    "3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + line(3, "a", 5, "case")
    + line(4, "el", 5, "det")
    + line(5, "mar marrón", 1, "obl:arg")
    + "\n# newpar\n0.1\te\te\t_\t_\t_\t_\t_\t_\t_\n"
    + line(1, "日本")
    + "\n"
)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        GOOD.rstrip("\n"),
        GOOD.rstrip("\n") + "\n",
        "\n\n" + GOOD + "\n\n# the end\n",
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,
        "",
        "# nothing\n",
    ],
    ids=["whole", "no end", "no empty line", "more lines", "crlf", "bom", "empty", "comment only"],
)
def test_round_trip(text, tmp_path):
    for name in ("a.conllu", "b.conllu.gz"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
        bank = Treebank.read(path)
        assert bank.to_bytes() == text.encode()
        bank.write(tmp_path / f"again-{name}")
        assert Treebank.read(tmp_path / f"again-{name}").to_bytes() == text.encode()
        assert len(bank) == (2 if "sent_id" in text else 0)


def test_content():
    bank = Treebank(GOOD.encode())
    assert (len(bank), bank.n_words) == (2, 6)
    first, second = bank
    assert first.forms == ["vamos", "nos", "a", "el", "mar marrón"]
    assert first.heads == [0, 1, 5, 5, 1]
    assert first.deprels == ["root", "obj", "case", "det", "obl:arg"]
    assert first.comments == ["# sent_id = 1", "# text = vámonos al mar"]
    assert (len(second), second.forms, second.comments) == (1, ["日本"], ["# newpar"])
    assert bank[-1] == second
    np.testing.assert_array_equal(bank.offsets, [0, 5, 6])
    np.testing.assert_array_equal(bank.heads, [0, 1, 5, 5, 1, 0])
    assert bank.column("misc") == ["_"] * 6
    assert bank.column("head") == ["0", "1", "5", "5", "1", "0"]
    with pytest.raises(IndexError):
        bank[2]
    with pytest.raises(ValueError, match="name must be one of"):
        bank.column("word")


def test_parts():
    bank = Treebank(GOOD.rstrip("\n").encode())
    assert bank[::-1].column("form") == ["日本", "vamos", "nos", "a", "el", "mar marrón"]
    assert bank[[1, 1]].n_words == 2
    assert bank[np.array([False, True])][0] == bank[1]
    assert len(bank[:0]) == 0
    other = bank.with_heads([1, 2, 3, 4, 0, 0], ["a", "b"], [0, 1, 0, 1, 0, 1])
    assert other[1:][0].deprels == ["b"]
    assert pickle.loads(pickle.dumps(other[:1])).to_bytes() == other[:1].to_bytes()


@pytest.mark.parametrize("values", [[1.5, 2, 3, 4, 0, 0], ["1", "2", "3", "4", "0", "0"], [None] * 6, [2**40] * 6])
def test_trees_are_whole_numbers(values):
    bank = Treebank(GOOD.encode())
    with pytest.raises(ValueError, match=r"heads must have shape \(6,\), whole numbers, one per word\. Got"):
        bank.with_heads(values)
    with pytest.raises(ValueError, match=r"relations must have shape \(6,\), whole numbers, one per word\. Got"):
        bank.with_heads(bank.heads, ["a"], values)


def test_whole_numbers_may_be_floats():
    bank = Treebank(GOOD.encode())
    assert bank.with_heads(bank.heads.astype(np.float64)).to_bytes() == bank.with_heads(bank.heads).to_bytes()


@pytest.mark.parametrize("index", [0.5, "0", b"0", None])
def test_sentences_have_whole_numbers(index):
    with pytest.raises(TypeError):
        Treebank(GOOD.encode())[index]


def test_other_trees_change_two_columns_only():
    bank = Treebank(GOOD.encode())
    text = bank.with_heads([2, 0, -1, 5, 2, 0], ["root", "far:too", "a"], [2, 0, 1, 1, 1, 0]).to_bytes().decode()
    before, after = GOOD.split("\n"), text.split("\n")
    assert len(before) == len(after)
    words = 0
    for old, new in zip(before, after, strict=True):
        if not old[:1].isdigit() or not old.split("\t")[0].isdigit():
            assert old == new
            continue
        words += 1
        assert [f for i, f in enumerate(old.split("\t")) if i not in (6, 7)] == [
            f for i, f in enumerate(new.split("\t")) if i not in (6, 7)
        ]
    assert words == 6
    assert [row.split("\t")[6:8] for row in after if row[:1].isdigit() and "\tx\t" in row][:3] == [
        ["2", "a"],
        ["0", "root"],
        ["_", "far:too"],
    ]
    only_heads = bank.with_heads([2, 0, 1, 5, 2, 0])
    assert only_heads[0].deprels == bank[0].deprels
    assert Treebank(only_heads.to_bytes()).heads.tolist() == [2, 0, 1, 5, 2, 0]
    for heads, relations in ([0], None), ([0] * 6, [0]):
        with pytest.raises(ValueError, match=r"shape \(6,\)"):
            bank.with_heads(heads, ["a"], relations)
    with pytest.raises(ValueError, match="out of range"):
        bank.with_heads([0] * 6, ["a"], [1] * 6).to_bytes()


@pytest.mark.parametrize(
    ("text", "number", "message"),
    [
        (line(1) + line(3, head=1), 2, "the id is '3' where 2 was expected"),
        (line(2), 1, "where 1 was expected"),
        (line(1) + line(1, head=1), 2, "the id is '1' where 2"),
        (line("x"), 1, "the id is 'x'"),
        (line("99999999999"), 1, "the id is '99999999999'"),
        ("# c\n" + line(1) + line(2, head=3), 3, "the head is 3, but the sentence has 2 words"),
        (line(1, head="-1"), 1, "the head is '-1'"),
        (line(1, head="1.5"), 1, "the head is '1.5'"),
        (line(1, head="99999999999"), 1, "the head is '99999999999'"),
        (line(1, head=1), 1, "its own head"),
        (line(1) + "\n" + line(1) + line(2, head=3) + line(3, head=2), 4, "cycle"),
        (line(1) + line(2), 2, "words 1 and 2 are both roots"),
        (line(1, head=2) + line(2, head=1), 1, "cycle"),
        (line(1).replace("NOUN", "NO\tUN"), 1, "there are 11 .a tab within a field"),
        ("1\tx\n", 1, "there are 2"),
        ("word\n", 1, "there is 1"),
        (line(1, form=""), 1, "the field FORM is empty"),
        (line(1, upos="NO UN"), 1, "a space in the field UPOS"),
        (line(1) + "# late\n", 2, "a comment within a sentence"),
        (line(1) + "2-3\tx\t_\t_\t_\t_\t_\t_\t_\t_\n" + line(2, head=1), 2, "ends at 3, but the sentence has 2"),
        (line(1) + "1-2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n" + line(2, head=1), 2, "does not begin at the next word"),
        ("2-1" + line(1)[1:] + line(1), 1, "does not begin at the next word"),
        (line(1) + "1.2\tx\t_\t_\t_\t_\t_\t_\t_\t_\n", 2, r"the empty node is '1.2' where 1.1"),
        ("1-1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n", 1, "without words"),
        (line(1, head=2) + line(2, head="_") + line(3, head="0") + line(4, head="0"), 4, "both roots"),
        (line(1) + line(2, form="a\0b", head=1), 2, "NUL"),
    ],
)
def test_errors_name_file_and_line(text, number, message, tmp_path):
    path = tmp_path / "bad.conllu"
    path.write_text("\n" + text, encoding="utf-8", newline="")
    with pytest.raises(ValueError, match=rf"bad\.conllu, line {number + 1}: .*{message}"):
        Treebank.read(path)


@pytest.mark.parametrize(
    "bad",
    [
        b"\xff",
        b"\xc0\xaf",
        b"\xc3",
        b"\xe0\x80\x80",
        b"\xed\xa0\x80",
        b"\xf0\x80\x80\x80",
        b"\xf4\x90\x80\x80",
        b"\x80",
    ],
)
def test_invalid_utf8(bad, tmp_path):
    path = tmp_path / "bad.conllu"
    head, tail = (line(1) + line(2, form="?", head=1)).encode().split(b"?")
    for text in (head + bad + tail, head + bad):
        path.write_bytes(text)
        with pytest.raises(ValueError, match=r"bad\.conllu, line 2: invalid UTF-8"):
            Treebank.read(path)


@pytest.mark.parametrize("mark", ["\u2028", "\x85", "\x0b", "\x1e"])
def test_other_line_ends_end_no_line(mark):
    """Python's str.splitlines splits at more characters than the format."""
    text = f"# a{mark}b\n" + line(1, f"x{mark}# y")
    for end in ("\n", "\r\n"):
        sentence = Treebank(text.replace("\n", end).encode())[0]
        assert sentence.comments == [f"# a{mark}b"]
        assert sentence.forms == [f"x{mark}# y"]


def test_damaged_gzip_files(tmp_path):
    whole = gzip.compress(GOOD.encode())
    altered = bytearray(whole)
    altered[30] ^= 0xFF
    path = tmp_path / "a.conllu.gz"
    for bad in (b"", whole[:-20], b"no gzip file", bytes(altered)):
        path.write_bytes(bad)
        if bad:
            with pytest.raises(ValueError, match=r"a\.conllu\.gz: no gzip file, or a damaged one"):
                Treebank.read(path)
        else:
            assert len(Treebank.read(path)) == 0


def test_missing_heads():
    bank = Treebank((line(1, head="_", deprel="_") + line(2, head="1")).encode())
    assert bank[0].heads == [-1, 1]


def test_conllx(tmp_path):
    path = tmp_path / "x.conll"
    path.write_text(line(1) + line(2) + "\n", encoding="utf-8")  # several roots are allowed
    assert Treebank.read(path, format="conllx").heads.tolist() == [0, 0]
    for text, message in (
        (line(1, head=2) + line(2, head=1), "cycle"),
        ("1-2" + line(1)[1:] + line(1) + line(2), "the id is '1-2'"),
        ("0.1" + line(1)[1:] + line(1), "the id is '0.1'"),
        ("# comment\n" + line(1), "10 fields"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            Treebank.read(path, format="conllx")
    with pytest.raises(ValueError, match="format must be"):
        Treebank.read(path, format="conll-09")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="bytes"):
        Treebank("text")  # type: ignore[arg-type]


def test_words():
    words = [[("Dogs", "NOUN", "NNS", 2, "nsubj"), ("bark", "VERB", "VBP", 0, "root")], [("Yes", "INTJ", "UH")]]
    bank = Treebank.from_words(words)
    assert [s.forms for s in bank] == [["Dogs", "bark"], ["Yes"]]
    assert bank.heads.tolist() == [2, 0, -1]
    assert len(Treebank.from_words([])) == 0
    for bad, message in (
        ([[("a", "b")]], "word 1 of sentence 0"),
        ([[("a\tb", "X", "Y")]], "tab"),
        ([[("a", "X", "Y")], []], "sentence 1 has no words"),
        ([[("a", "X", "Y", 3, "x")]], "the head is 3"),
        ([[("", "X", "Y")]], "FORM is empty"),
        ([["dog"]], "Got the text 'dog' in word 1 of sentence 0"),
        ([[("a", "X", "Y")], [("b\ud800", "X", "Y")]], "<words>, line 3: half of a surrogate pair"),
        ([[("a", "X", "Y", 0, "root"), ("b", "X", "Y", 0, "root")]], "<words>, line 2: words 1 and 2 are both roots"),
    ):
        with pytest.raises(ValueError, match=message):
            Treebank.from_words(bad)


def test_sentences_of_a_treebank_are_lists_of_words():
    bank = make_trees(60, random_state=0)
    assert Treebank.from_words(list(bank)).to_bytes() == bank.to_bytes()
    parser = DependencyParser(table_bits=12, max_iter=1, random_state=0)
    search = GridSearchCV(parser, {"learner": ["mira", "perceptron"]}, cv=2, error_score="raise").fit(bank)
    assert search.best_score_ > 0.5
    assert search.best_estimator_.predict([bank[0]])[0].heads == search.best_estimator_.predict(bank[:1])[0].heads


def test_a_sentence_may_be_long_but_not_endless():
    text = "".join(line(i + 1, head=i) for i in range(1000))
    assert Treebank(text.encode()).n_words == 1000
    with pytest.raises(ValueError, match="line 32768: a sentence of more than 32767 words"):
        Treebank("".join(line(i + 1, head=i) for i in range(32768)).encode())


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_byte_order_mark_belongs_to_no_sentence(end, tmp_path):
    plain = "# sent_id = 1\n1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n\n# sent_id = 2\n1\tb\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    data = plain.replace("\n", end).encode()
    (tmp_path / "marked.conllu").write_bytes(b"\xef\xbb\xbf" + data)
    marked, clean = Treebank.read(tmp_path / "marked.conllu"), Treebank(data)
    assert list(marked) == list(clean)
    assert marked[0].comments == ["# sent_id = 1"]
    for ids in ([1, 0], [0, 1], [0, 0], slice(0, 1), slice(None, None, -1), np.array([True, False])):
        assert list(marked[ids]) == list(clean[ids])
        assert marked[ids].to_bytes() == clean[ids].to_bytes()
    assert marked.to_bytes() == b"\xef\xbb\xbf" + data  # as it was read
    assert len(Treebank(b"\xef\xbb\xbf")) == 0
    with pytest.raises(ValueError, match="line 4"):  # anywhere else it is a character like others
        Treebank(data[: len(data) // 2] + b"\xef\xbb\xbf" + data[len(data) // 2 :])
