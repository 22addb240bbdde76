"""The parts of the setting `calls`: its server, its tables, and what it knows of files."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.usefixtures("bench_package")


def test_the_server_fails_now_and_then_counts_what_it_answered_and_can_be_killed():
    from bench.served import _ask, _server

    answered, failed = 0, []
    with _server({"one": 1, "two": 2}, seed=0) as server:
        for _ in range(40):
            try:
                assert _ask(server.current, ["two", "one"]) == [2, 1]
                answered += 1
            except ConnectionError as error:
                failed.append(str(error))
        assert {text[:3] for text in failed} == {"503"}
        assert server.paid == 2 * answered
        server.kill(0)
        with pytest.raises(ConnectionError):
            _ask(server.current, ["one"])
        assert server.paid == 0


def test_joined_rows_are_the_flights_and_each_table_is_queried_for_the_rows_that_need_it():
    from bench.joined import BATCH, GROUPS, HOUR, Base

    names = [*HOUR, "distance", *GROUPS["weather"], *GROUPS["aircraft"]]
    rng = np.random.default_rng(0)
    hours, planes = rng.integers(20, size=1500), rng.integers(30, size=1500)
    keys = np.column_stack([hours % 2, hours % 5, hours, hours % 3, rng.random(1500)])
    sky, craft = rng.random((20, len(GROUPS["weather"]))), rng.random((30, len(GROUPS["aircraft"])))
    sky[3, 0] = np.nan
    X = np.hstack([keys, sky[hours], craft[planes]]).astype(np.float32)
    base, ids = Base(X, names), rng.permutation(1500)[:1200]
    rows = base.rows(ids)
    assert rows.counts["weather"].rows == 0
    part = rows.take(np.arange(100))
    np.testing.assert_array_equal(part.array(), X[ids[:100]])
    assert rows.counts["weather"].rows == rows.counts["aircraft"].rows == 100
    np.testing.assert_array_equal(rows.array(), X[ids])
    assert rows.counts["weather"].calls == 1 + -(-1100 // BATCH)


def test_the_first_bytes_of_a_file_are_told_one_by_one_and_counted(tmp_path):
    from bench.files import HEAD, ONE_BY_ONE, first_bytes

    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "some").write_bytes(b"ab" + b"c" * HEAD)
    empty, some = first_bytes([str(tmp_path / "empty"), str(tmp_path / "some")])
    assert not empty.any()
    assert np.flatnonzero(some[: 256 * ONE_BY_ONE]).tolist() == [97, 256 + 98, 512 + 99, 768 + 99]
    assert some[256 * ONE_BY_ONE + 99] == pytest.approx(np.sqrt(HEAD - 2))
