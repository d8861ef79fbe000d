"""Single things as they are shown: numbers on their own side of a threshold, text that cannot act."""

import math
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from connector.output import shown


@pytest.mark.parametrize(
    ("value", "guard", "text"),
    [
        (0.69996, 0.7, "0.69996"),
        (0.6996, 0.7, "0.6996"),
        (0.6994, 0.7, "0.699"),
        (0.69999999, 0.7, "0.69999999"),
        (0.7, 0.7, "0.700"),
        (0.7 - 1e-12, 0.7, "0.700"),
        (0.7004, 0.7, "0.700"),
        (0.71496, 0.715, "0.71496"),
        (0.99996, 0.7, "0.99996"),
        (1.0, 0.7, "1.000"),
        (-0.0001, 0.7, "0.000"),
        (-0.25, 0.7, "-0.250"),
        (None, 0.7, "–"),
    ],
)
def test_a_number_never_shows_on_the_other_side_of_the_threshold(value: float | None, guard: float, text: str) -> None:
    assert shown.number(value, guard) == text


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_no_number_and_threshold_do(value: float, guard: float) -> None:
    text = shown.number(value, guard)
    assert (float(text) >= guard - shown.TOLERANCE) == (value >= guard - shown.TOLERANCE)
    assert math.isclose(float(text), value, abs_tol=5.01e-4)
    assert text != "1.000" or value >= 1 - shown.TOLERANCE


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_it_agrees_with_the_gates_own_text_about_the_side(value: float, guard: float) -> None:
    from connector.agreement.gate import printed

    ours, gates = float(shown.number(value, guard)), float(printed(value, guard))
    assert (ours >= guard - shown.TOLERANCE) == (gates >= guard - shown.TOLERANCE)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0.0%"), (0.0001, "<0.1%"), (0.633, "63.3%"), (0.99999, ">99.9%"), (1, "100.0%")],
)
def test_a_share_is_nothing_or_all_only_where_it_is(share: float, text: str) -> None:
    assert shown.percent(share) == text


@given(st.text())
def test_clean_text_holds_nothing_that_acts(text: str) -> None:
    found = shown.clean(text)
    assert not [
        sign
        for sign in found
        if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Zl", "Zp") and sign not in "\u200c\u200d"
    ]
    found.encode("utf-8")
    assert shown.clean(found) == found


@pytest.mark.parametrize("text", ["plain", "漢字", "فارسی\u200cها", "👩‍👩‍👧", "é̂", "a\u00a0b"])
def test_what_people_write_stays(text: str) -> None:
    assert shown.clean(text) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        ("x", "x"),
        (3.0, "3"),
        (-2.5, "-2.5"),
        ((), "(none)"),
        (("A", "B"), "A, B"),
        ((("Animal", "Dog"), ("Plant",)), "Animal/Dog, Plant"),
    ],
)
def test_values_as_people_read_them(value: object, text: str) -> None:
    assert shown.label(value) == text


@pytest.mark.parametrize(
    "link",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        " javascript:alert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "//host/x",
        "http:x",
        "http://",
        "https://h/\nx",
        'https://h/"onclick=',
        "https://h/<x>",
        "http://[",
        "",
        None,
    ],
)
def test_only_web_addresses_become_links(link: str | None) -> None:
    assert shown.safe_link(link) is None


def test_web_addresses_stay_as_they_are() -> None:
    link = "http://127.0.0.1:8080/ls/projects/7/data?task=12&tab=3#x"
    assert shown.safe_link(link) == link
