"""The plan of writes is the difference between what should be there and what is there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from connector.tools.base import ClearFields, PutSummary, SetField
from connector.workflow.plan import WritePlan, plan_fields

values = st.dictionaries(
    st.sampled_from(["iaa_agreement", "iaa_status"]),
    st.dictionaries(
        st.sampled_from([str(n) for n in range(8)]), st.one_of(st.floats(0, 1), st.sampled_from(["agreed", "1", "0"]))
    ),
)


def apply(
    held: dict[str, dict[str, float | str]], operations: list[SetField | ClearFields]
) -> dict[str, dict[str, float | str]]:
    now = {field: dict(of_units) for field, of_units in held.items()}
    for op in operations:
        for unit in op.units:
            if isinstance(op, SetField):
                now.setdefault(op.field, {})[unit] = op.value
            else:
                for field in op.fields:
                    del now[field][unit]
    return {field: of_units for field, of_units in now.items() if of_units}


@given(values, values)
def test_applying_the_plan_gives_what_is_wanted_and_a_second_plan_is_empty(desired, held) -> None:  # type: ignore[no-untyped-def]
    after = apply(held, plan_fields(desired, held))
    assert after == {field: of_units for field, of_units in desired.items() if of_units}
    assert plan_fields(desired, after) == []


def test_equal_values_go_in_one_operation() -> None:
    assert plan_fields({"f": {"1": 0.5, "2": 0.5, "3": 1.0}}, {}) == [
        SetField("f", 0.5, ("1", "2")),
        SetField("f", 1.0, ("3",)),
    ]


def test_a_number_and_its_text_are_not_the_same_but_one_and_one_point_nought_are() -> None:
    assert plan_fields({"f": {"1": "1"}}, {"f": {"1": 1}}) == [SetField("f", "1", ("1",))]
    assert plan_fields({"f": {"1": 1.0}}, {"f": {"1": 1}}) == []


def test_the_plan_is_printed_by_kind_of_change() -> None:
    plan = WritePlan(
        (
            SetField("iaa_status", "agreed", ("2", "10")),
            SetField("iaa_status", "conflict", ("1",)),
            PutSummary("a line"),
        )
    )
    assert plan.lines() == ["set iaa_status on 3 units (1, 2, 10)", "put into the description: a line"]
    assert not WritePlan()
