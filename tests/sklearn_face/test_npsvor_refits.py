"""What a fit leaves behind when it fails or follows another; bad settings; extreme costs."""

import warnings
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import LinearSVC

from anabranch.errors import ConfigurationError
from anabranch.protocol import Array
from anabranch.sklearn_face import NPSVOR, NPSVORCV, SVORIM, RedSVM
from tests.sklearn_face.test_npsvor import text_like

MODELS = [NPSVOR(), NPSVOR(solver="tron"), RedSVM(), NPSVORCV(Cs=(1.0,), cv=2)]


@pytest.fixture(scope="module")
def data() -> tuple[Array, Array]:
    """Dense rows, and labels 1 to 4."""
    X, y = text_like()
    return X.toarray(), y


@pytest.mark.parametrize("model", MODELS)
def test_a_fit_that_fails_changes_nothing(model: Any, data: tuple[Array, Array]) -> None:
    X, y = data
    model = clone(model)
    labels = model.fit(X, y).predict(X)
    before = dict(vars(model))
    wide = np.hstack([X, X])
    for rows, weights in ((wide * 1e200, None), (wide, np.full(60, -1.0)), (wide * np.nan, None)):
        with pytest.raises(ValueError, match=r"too long|Negative|NaN"):
            model.fit(rows, y * 10, sample_weight=weights)
        assert all(vars(model)[name] is value for name, value in before.items())
        assert vars(model).keys() == before.keys()
        assert np.array_equal(model.predict(X), labels)


@pytest.mark.parametrize("model", [NPSVOR(), RedSVM()])
def test_rows_beyond_their_precision_are_refused_without_a_warning(
    model: Any, data: tuple[Array, Array]
) -> None:
    X, y = data
    model.set_params(dtype="float32")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="too long"):
            model.fit(X * 1e39, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize("solver", ["dcd", "dcd-m"])
def test_a_warm_start_goes_on_in_another_precision(solver: Any, data: tuple[Array, Array]) -> None:
    X, y = data
    model = NPSVOR(warm_start=True, solver=solver, dtype="float64").fit(X, y)
    for kind in ("float32", "float64"):
        first = model.n_iter_ if solver == "dcd" else 1000  # "dcd-m" is judged by its first pass
        again = model.set_params(dtype=kind).fit(X, y)
        assert again.coef_.dtype == kind
        assert again.n_iter_ <= first
        assert again.gap_.max() < 0.01


def test_a_trace_is_gone_after_a_fit_without(data: tuple[Array, Array]) -> None:
    model = NPSVOR(trace=True).fit(*data)
    assert model.trace_
    model.set_params(trace=False).fit(*data)
    assert not hasattr(model, "trace_")
    assert not hasattr(model, "trace_planes_")


@pytest.mark.parametrize("C", [1.0, 100.0, 1e6])
def test_newtons_dual_tells_what_is_missing_whatever_the_cost(C: float) -> None:
    X, y = text_like(300, 40, 5)
    best = NPSVOR(C, solver="tron", tol=1e-9).fit(X, y)
    assert (np.abs(best.gap_) < 0.02).all()
    for tol in (0.1, 0.01, 1e-4):
        early = NPSVOR(C, solver="tron", tol=tol).fit(X, y)
        missing = 1.0 - best.objective_ / early.objective_
        assert (early.gap_ >= missing - 1e-9).all()
        assert (early.gap_ <= missing + 0.02).all()


def test_newtons_gap_closes_on_rows_without_errors_too(data: tuple[Array, Array]) -> None:
    """Where large costs leave no errors, the gradient at 0 says little about the optimum."""
    gaps = np.array([
        NPSVOR(100.0, solver="tron", tol=tol).fit(*data).gap_ for tol in (0.01, 1e-4, 1e-8)
    ])  # fmt: skip
    assert ((gaps >= -1e-12) & (gaps <= 0.01)).all()
    assert gaps[-1].max() < 1e-6


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_least_and_the_largest_cost(loss: Any, dtype: Any, data: tuple[Array, Array]) -> None:
    options: dict[str, Any] = {"loss": loss, "dtype": dtype, "max_iter": 20}
    for kind in (NPSVOR, RedSVM):
        low = kind(1e-20, **options).fit(*data)
        assert (np.abs(low.gap_) < 1e-3).all()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            high = kind(1e30, **options).fit(*data)
        assert ((np.asarray(high.gap_) > -1e-3) & (np.asarray(high.gap_) <= 1.0)).all()
    high = NPSVOR(1e30, solver="tron").fit(*data)
    assert np.isfinite(high.objective_).all()
    assert ((high.gap_ >= 0.0) & (high.gap_ <= 1.0)).all()


def test_weights_are_within_what_costs_may_be(data: tuple[Array, Array]) -> None:
    X, y = data
    for weight in (1e31, 1e-22):
        with pytest.raises(ValueError, match=r"sample_weight is up to .*; allowed: up to 1e-21 to"):
            NPSVOR(10.0).fit(X, y, np.full(60, weight))


CLASSES = [{1, 2, 3, 4}, "1234", b"12", 4, [[1, 2], [3, 4]], [[1, 2], [3]], [1, "2", 3], []]


@pytest.mark.parametrize("model", MODELS[1:])
@pytest.mark.parametrize("classes", CLASSES)
def test_classes_are_a_list_of_words_or_of_numbers(
    model: Any, classes: Any, data: tuple[Array, Array]
) -> None:
    one = RedSVM(classes=classes) if isinstance(model, RedSVM) else NPSVOR(classes=classes)
    with pytest.raises(ConfigurationError, match="allowed: a list of words or of numbers") as told:
        (NPSVORCV(one) if isinstance(model, NPSVORCV) else one).fit(*data)
    assert str(told.value).startswith(f"classes = {classes!r} ")


@pytest.mark.parametrize("kind", [tuple, np.array])
def test_classes_may_be_any_sequence(kind: Any, data: tuple[Array, Array]) -> None:
    for classes in (kind([1, 2, 3, 4]), range(1, 5)):
        assert NPSVOR(classes=classes).fit(*data).classes_.tolist() == [1, 2, 3, 4]


def test_an_ordered_column_of_pandas_brings_its_order(data: tuple[Array, Array]) -> None:
    pd = pytest.importorskip("pandas")
    X, y = data
    words = ["bad", "fair", "good", "best"]
    column = pd.Series(pd.Categorical(np.array(words)[y - 1], words, ordered=True))
    for model in (NPSVOR(), RedSVM(), NPSVORCV(Cs=(1.0,), cv=2)):
        numbers = model.fit(X, y).predict(X)
        named = model.fit(X, column)
        assert named.classes_.tolist() == words
        assert np.array_equal(named.predict(X), np.array(words)[numbers - 1])
    assert NPSVOR().fit(X, column.astype(str)).classes_.tolist() == sorted(words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"random_state": "x"}, "random_state = 'x' is no seed; allowed: whole, 0 to 2**32 - 1"),
        ({"random_state": -1}, "random_state = -1 is no seed"),
        ({"fit_intercept": "no"}, "fit_intercept='no'; allowed: true, false"),
        ({"fit_intercept": 2}, "fit_intercept=2; allowed: true, false"),
        ({"warm_start": "no"}, "warm_start='no'; allowed: true, false"),
        ({"C": 1e300}, "C = 1e+300 is out of range; allowed: 1e-20 to 1e+30"),
        ({"C2": 1e-300}, "C2 = 1e-300 is out of range; allowed: 1e-20 to 1e+30"),
        ({"C": 10**400}, "is out of range; allowed: above 0"),
        ({"loss": ["hinge"]}, "loss = ['hinge'] is unknown; allowed: squared_hinge, hinge"),
    ],
)
def test_settings_are_refused_by_name(
    options: dict[str, Any], words: str, data: tuple[Array, Array]
) -> None:
    for solver in ("dcd", "tron"):
        with pytest.raises(ConfigurationError) as told:
            NPSVOR(solver=solver, **options).fit(*data)
        assert words in str(told.value)


NUMBERS = "costs above 0"
PAIRS = "costs above 0 or pairs (C1, C2) of them"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"Cs": 1.0}, f"Cs = 1.0 is no list; allowed: a list of {PAIRS}"),
        ({"Cs": None}, f"Cs = None is no list; allowed: a list of {PAIRS}"),
        ({"Cs": "12"}, f"Cs = '12' is no list; allowed: a list of {PAIRS}"),
        ({"Cs": {0.1, 1.0}}, "is no list; allowed"),
        ({"Cs": [(1,)]}, f"Cs has (1,); allowed: {PAIRS}"),
        ({"Cs": [(1, 2, 3)]}, f"Cs has (1, 2, 3); allowed: {PAIRS}"),
        ({"Cs": [[1, 2]]}, f"Cs has [1, 2]; allowed: {PAIRS}"),
        ({"Cs": np.ones((2, 2))}, "is no list; allowed"),
        ({"Cs": (1e300,)}, "Cs = 1e+300 is out of range; allowed: 1e-20 to 1e+30"),
        ({"model": RedSVM(), "Cs": [(1, 2)]}, f"Cs has (1, 2); allowed: {NUMBERS}"),
        ({"model": RedSVM(), "path": True}, "path = True with RedSVM(); allowed: False, or an NP"),
        ({"model": SVORIM()}, "model = SVORIM() is unknown; allowed: NPSVOR(), RedSVM()"),
        ({"model": LinearSVC()}, "model = LinearSVC() is unknown; allowed: NPSVOR(), RedSVM()"),
        ({"model": NPSVOR}, "is unknown; allowed: NPSVOR(), RedSVM()"),
        ({"model": NPSVOR(random_state=-1)}, "random_state = -1 is no seed"),
    ],
)
def test_the_search_refuses_by_name(
    options: dict[str, Any], words: str, data: tuple[Array, Array]
) -> None:
    with pytest.raises(ConfigurationError) as told:
        NPSVORCV(**options).fit(*data)
    assert words in str(told.value)


def test_the_search_refuses_a_generator(data: tuple[Array, Array]) -> None:
    with pytest.raises(ConfigurationError, match="is no list; allowed: a list of costs"):
        NPSVORCV(Cs=(C for C in (0.1, 1.0))).fit(*data)  # type: ignore[arg-type]


def test_costs_may_be_an_array(data: tuple[Array, Array]) -> None:
    costs: Any = np.array([0.1, 1.0])
    assert NPSVORCV(Cs=costs, cv=2).fit(*data).C_ in costs
