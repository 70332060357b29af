from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pytest

from lakehouse.errors import BadSourceFile
from lakehouse.generator import weather_csv
from lakehouse.sources import WEATHER_ELEMENTS, SourceFile
from lakehouse.weather_file import CITY_COUNTIES, check_weather_file

FINAL = "prcp-202302-cty-scaled.csv"
PRELIMINARY = "prcp-202302-cty-prelim.csv"


def made(name: str = FINAL) -> str:
    return weather_csv(SourceFile(f"file:///{name}", "2023-02"))


def without_days(text: str, first: int, last: int) -> str:
    lines = [line.split(",") for line in text.splitlines()]
    for fields in lines:
        fields[6 + first - 1 : 6 + last] = ["  -999.99"] * (last - first + 1)
    return "".join(",".join(fields) + "\n" for fields in lines)


def replace_value(text: str, day: int, value: str) -> str:
    head, *lines = text.splitlines(keepends=True)
    fields = head.split(",")
    fields[6 + day - 1] = value
    return ",".join(fields) + "".join(lines)


@pytest.mark.replay
def test_every_real_file_passes(shared: Path) -> None:
    paths = sorted((shared / "data/weather/averages").glob("*/*.csv"))
    assert paths
    for path in paths:
        with path.open("rb") as content:
            file = check_weather_file(str(path), content)
        assert path.name.startswith(f"{file.element}-{file.month.replace('-', '')}")
        assert len(file.counties) == 3_107


@pytest.mark.parametrize("element", WEATHER_ELEMENTS)
def test_every_generated_file_passes(element: str) -> None:
    name = f"{element}-202302-cty-scaled.csv"
    file = check_weather_file(f"https://noaa/{name}", io.BytesIO(made(name).encode()))
    assert (file.element, file.month) == (element, "2023-02")
    assert file.counties == CITY_COUNTIES.keys()


FAULTS: dict[str, tuple[Callable[[str], str], str]] = {
    "empty": (lambda _: "", "is empty; expected one line per county"),
    "page": (
        lambda _: "<!doctype html>\n<title>Sign in</title>\n",
        r"line 1: received 1 fields \('<!doctype html>'\), expected 37 separated by commas",
    ),
    "json": (lambda _: '{"status": 503}\n', "line 1: received 1 fields"),
    "json without an end": (lambda _: '{"status": 503}', r"line 1: received '\{\"status"),
    "semicolons": (lambda text: text.replace(",", ";"), "line 1: received 1 fields .*'cty;30005"),
    "cut in a line": (lambda text: text[: len(text) * 2 // 3], "line 4: .* the file is truncated"),
    "cut in the last value": (lambda text: text[:-2], "line 5: .* the file is truncated"),
    "cut between lines": (
        lambda text: "".join(text.splitlines(keepends=True)[:3]),
        "has 3 counties but lacks 30081, 30085",
    ),
    "a field too few": (
        lambda text: text.replace(",PRCP", "", 1),
        "line 1: received 36 fields .* expected 37",
    ),
    "another month": (
        lambda text: text.replace(",2023,02,", ",2023,01,"),
        "line 1: received month '01', expected '02' as in the file's name",
    ),
    "another year": (
        lambda text: text.replace(",2023,02,", ",2022,02,"),
        "line 1: received year '2022', expected '2023'",
    ),
    "another element": (
        lambda text: text.replace("PRCP", "TAVG"),
        "line 1: received element 'TAVG', expected 'PRCP'",
    ),
    "no county code": (
        lambda text: text.replace("30061", "NY061"),
        "line 3: received region code 'NY061', expected five digits",
    ),
    "states for counties": (
        lambda text: text.replace("cty,", "ste,"),
        "line 1: received region type 'ste', expected 'cty'",
    ),
    "a county twice": (
        lambda text: text + text.splitlines(keepends=True)[0],
        "line 6: received region code 30005 a second time",
    ),
    "decimal commas": (
        lambda text: replace_value(text, 3, "    1'20"),
        'line 1: received "    1\'20" for day 3, expected a number with two decimals',
    ),
    "not a number": (
        lambda text: replace_value(text, 3, "      NaN"),
        "line 1: received '      NaN' for day 3",
    ),
    "out of range": (
        lambda text: replace_value(text, 4, "   -99.90"),
        "line 1: received -99.90 for day 4, expected 0 to 2000 or -999.99",
    ),
    "a day too many": (
        lambda text: replace_value(text, 29, "     1.00"),
        "line 1: received 1.00 for day 29, expected -999.99: the month has 28 days",
    ),
    "missing values": (
        lambda text: without_days(text, 10, 14),
        "has no value .* for 18% of its days; at most 10% are allowed",
    ),
    "missing last days": (
        lambda text: without_days(text, 24, 28),
        "has no value .* for 18% of its days",
    ),
    "endless line": (lambda text: text.rstrip("\n") * 20, "line 1: .*more than 2,000 bytes|line 5"),
    "not ASCII": (
        lambda text: text.replace("Bronx", "Br\u00f6nx"),
        "line 1: .* expected ASCII text",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_invalid_file_is_rejected_with_its_line(fault: str) -> None:
    spoil, problem = FAULTS[fault]
    with pytest.raises(BadSourceFile, match=problem) as caught:
        check_weather_file(f"/landing/{FINAL}", io.BytesIO(spoil(made()).encode()))
    assert f"/landing/{FINAL}" in str(caught.value)
    assert "run the task again" in str(caught.value)


def test_preliminary_file_may_lack_the_last_days() -> None:
    content = without_days(made(PRELIMINARY), 11, 28)
    check_weather_file(PRELIMINARY, io.BytesIO(content.encode()))
    for first, last in ((1, 28), (5, 10)):
        content = without_days(made(PRELIMINARY), first, last)
        with pytest.raises(BadSourceFile, match="has no value"):
            check_weather_file(PRELIMINARY, io.BytesIO(content.encode()))


@pytest.mark.parametrize("name", ["snow-202302-cty-scaled.csv", "prcp-202313-cty-scaled.csv", "x"])
def test_file_with_invalid_name_is_rejected(name: str) -> None:
    with pytest.raises(BadSourceFile, match="expected ELEMENT-YYYYMM-cty-scaled.csv"):
        check_weather_file(name, io.BytesIO(made().encode()))
