"""Models of ai.onnx.ml: trees against a walk of the lists of the model, others against what ONNX Runtime gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import irtool
from irtool.diagnostics import IrError

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402

from tests.frontends.onnx.agreement import evaluated  # noqa: E402

pytestmark = pytest.mark.promise("networks in ONNX")

NUMBERS = {"float32": TensorProto.FLOAT, "float64": TensorProto.DOUBLE, "int64": TensorProto.INT64}
MODES: dict[str, Any] = {
    "BRANCH_LEQ": lambda x, v: x <= v,
    "BRANCH_LT": lambda x, v: x < v,
    "BRANCH_GTE": lambda x, v: x >= v,
    "BRANCH_GT": lambda x, v: x > v,
    "BRANCH_EQ": lambda x, v: x == v,
    "BRANCH_NEQ": lambda x, v: x != v,
}


def model_of(op: str, x: Any, outputs: tuple[str, ...] = ("y",), version: int = 3, **attributes: Any) -> Any:
    """A model of one node on data like `x`."""
    node = helper.make_node(op, ["x"], outputs, domain="ai.onnx.ml", **attributes)
    graph_inputs = [helper.make_tensor_value_info("x", NUMBERS[str(x.dtype)], x.shape)]
    graph_outputs = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs]
    graph = helper.make_graph([node], "net", graph_inputs, graph_outputs)
    return helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", version)], ir_version=8
    )


def drawn_trees(rng: Any, features: int, targets: int, prefix: str) -> dict[str, Any]:
    """Three random trees as the lists of an operator."""
    lists: dict[str, Any] = {
        f"nodes_{k}": [] for k in ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
    }
    lists["nodes_missing_value_tracks_true"] = []
    lists |= {f"{prefix}_{k}": [] for k in ("treeids", "nodeids", "ids", "weights")}
    modes = list(MODES) if rng.random() < 0.6 else [str(rng.choice(list(MODES)))]

    def grow(tree: int, depth: int) -> int:
        place = lists["nodes_treeids"].count(tree)
        leaf = depth == 0 or rng.random() < 0.2
        row: tuple[Any, ...] = (
            tree,
            place,
            "LEAF" if leaf else str(rng.choice(modes)),
            int(rng.integers(features)),
            float(rng.integers(-2, 3)),
        )
        for k, v in zip(("treeids", "nodeids", "modes", "featureids", "values"), row, strict=True):
            lists[f"nodes_{k}"].append(v)
        node = len(lists["nodes_modes"]) - 1
        lists["nodes_missing_value_tracks_true"].append(int(rng.integers(2)))
        lists["nodes_truenodeids"].append(0)
        lists["nodes_falsenodeids"].append(0)
        if leaf:
            for target in range(targets):
                for name, v in zip(
                    ("treeids", "nodeids", "ids", "weights"),
                    (tree, place, target, rng.integers(-8, 9) / 4),
                    strict=True,
                ):
                    lists[f"{prefix}_{name}"].append(v)
        else:
            for name in ("nodes_truenodeids", "nodes_falsenodeids"):
                lists[name][node] = grow(tree, depth - 1)
        return place

    for tree in range(3):
        grow(tree, 3)
    return lists


def walked(lists: dict[str, list[Any]], x: Any, targets: int, prefix: str) -> Any:
    """The weights of the leaves, `(trees, rows, targets)`."""
    place = {k: i for i, k in enumerate(zip(lists["nodes_treeids"], lists["nodes_nodeids"], strict=True))}
    weights = np.zeros((len(place), targets))
    owners = zip(*(lists[f"{prefix}_{k}"] for k in ("treeids", "nodeids", "ids", "weights")), strict=True)
    for tree, node, k, weight in owners:
        weights[place[tree, node], k] = weight
    result = np.zeros((3, len(x), targets))
    for tree in range(3):
        for r, row in enumerate(x):
            n = place[tree, 0]
            while lists["nodes_modes"][n] != "LEAF":
                number = row[lists["nodes_featureids"][n]]
                yes = MODES[lists["nodes_modes"][n]](number, lists["nodes_values"][n])
                yes = yes or (np.isnan(number) and lists["nodes_missing_value_tracks_true"][n])
                n = place[tree, lists["nodes_truenodeids" if yes else "nodes_falsenodeids"][n]]
            result[tree, r] = weights[n]
    return result


@pytest.mark.parametrize("seed", range(12))
def test_trees_of_all_modes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    targets = int(rng.integers(1, 4))
    lists = drawn_trees(rng, 3, targets, "target")
    x = rng.integers(-3, 4, (6, 3)).astype(str(rng.choice(list(NUMBERS))))
    if x.dtype.kind == "f":
        x[rng.random(x.shape) < 0.2] = np.nan
        x[0, 0], x[1, 1] = np.inf, -np.inf
    function = str(rng.choice(["SUM", "AVERAGE", "MIN", "MAX"]))
    model = model_of("TreeEnsembleRegressor", x, n_targets=targets, aggregate_function=function, **lists)
    joined: Any = {"SUM": np.sum, "AVERAGE": np.mean, "MIN": np.min, "MAX": np.max}[function]
    expected = joined(walked(lists, x, targets, "target"), axis=0)
    (actual,) = evaluated(model, {"x": x}, compiled=seed % 4 == 0)
    assert actual.dtype == np.float32
    np.testing.assert_allclose(actual, expected, 1e-6, 1e-6)


def test_trees_survive_the_text() -> None:
    rng = np.random.default_rng(5)
    lists = drawn_trees(rng, 3, 3, "class")
    x = rng.integers(-3, 4, (6, 3)).astype("float32")
    model = model_of("TreeEnsembleClassifier", x, ("y", "z"), classlabels_int64s=[4, 2, 9], **lists)
    module, params = irtool.from_onnx(model)
    scores = walked(lists, x, 3, "class").sum(0)
    again = irtool.parse(irtool.to_text(module))
    for program in (module, again):
        label, probabilities = irtool.evaluate(program, {"x": x, **params})
        np.testing.assert_allclose(probabilities, scores, 1e-6)
        np.testing.assert_array_equal(label, np.array([4, 2, 9])[scores.argmax(1)])


def test_sets_of_numbers() -> None:
    """TreeEnsemble: 0 if x is 1, 4 or 6, else 10 up to 3 and 20 above it."""
    array = onnx.numpy_helper.from_array
    x = np.array([[1], [6], [4], [2], [5], [np.nan]], "float32")
    model = model_of(
        "TreeEnsemble",
        x,
        version=5,
        tree_roots=[0],
        nodes_featureids=[0, 0],
        nodes_splits=array(np.array([0, 3], "float32")),
        nodes_modes=array(np.array([6, 0], "uint8")),
        nodes_truenodeids=[0, 1],
        nodes_trueleafs=[1, 1],
        nodes_falsenodeids=[1, 2],
        nodes_falseleafs=[0, 1],
        leaf_targetids=[0, 0, 0],
        leaf_weights=array(np.array([0, 10, 20], "float32")),
        membership_values=array(np.array([1, 4, 6, np.nan], "float32")),
    )
    for compiled in (False, True):
        (actual,) = evaluated(model, {"x": x}, compiled)
        np.testing.assert_array_equal(actual.ravel(), [0, 0, 0, 10, 20, 20])


X = np.array([[0.5, -2, 1], [0, 3, -1]], "float32")
CASES: dict[str, tuple[str, dict[str, Any], Any, list[Any]]] = {
    "scaler": ("Scaler", {"offset": [1.0, 0.0, 2.0], "scale": [2.0, 1.0, 0.5]}, X, [[[-1, -2, -0.5], [-2, 3, -1.5]]]),
    "scaler of integers": (
        "Scaler",
        {"offset": [1.0], "scale": [2.0]},
        X.astype("int64"),
        [[[-2, -6, 0], [-2, 4, -4]]],
    ),
    "largest element": ("Normalizer", {"norm": "MAX"}, X, [[[0.5, -2, 1], [0, 1, -1 / 3]]]),
    "sum of magnitudes": ("Normalizer", {"norm": "L1"}, X * [[1], [0]], [[[1 / 7, -4 / 7, 2 / 7], [0, 0, 0]]]),
    "root of squares": ("Normalizer", {"norm": "L2"}, np.array([[3, 4]], "float32"), [[[0.6, 0.8]]]),
    "missing numbers": (
        "Imputer",
        {"imputed_value_floats": [1.0, 2.0], "replaced_value_float": float("nan")},
        np.array([[np.nan, 5], [3, np.nan]], "float32"),
        [[[1, 5], [3, 2]]],
    ),
    "missing integers": (
        "Imputer",
        {"imputed_value_int64s": [7], "replaced_value_int64": -1},
        np.array([[-1, 5]]),
        [[[7, 5]]],
    ),
    "threshold": ("Binarizer", {"threshold": 0.5}, X, [[[0, 0, 1], [0, 1, 0]]]),
    "places of categories": (
        "OneHotEncoder",
        {"cats_int64s": [3, 1]},
        np.array([[1], [3], [5]]),
        [[[[0, 1]], [[1, 0]], [[0, 0]]]],
    ),
    "numbers for numbers": (
        "LabelEncoder",
        {"keys_int64s": [3, 1, 3], "values_floats": [0.5, 2.5, 9.0], "default_float": -1.0},
        np.array([1, 3, 7]),
        [[2.5, 0.5, -1]],
    ),
    "linear regression": (
        "LinearRegressor",
        {"coefficients": [1.0, 2.0, 3.0, 0.0, 1.0, 0.0], "intercepts": [0.5, 0.0], "targets": 2},
        X,
        [[[0, -2], [3.5, 3]]],
    ),
    "linear classes": (
        "LinearClassifier",
        {
            "coefficients": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            "intercepts": [0.0] * 3,
            "classlabels_ints": [7, 8, 9],
        },
        X,
        [[9, 8], [[0.5, -2, 1], [0, 3, -1]]],
    ),
    "two linear classes": (
        "LinearClassifier",
        {
            "coefficients": [0.0, 1.0, 0.0],
            "intercepts": [0.0],
            "classlabels_ints": [7, 8],
            "post_transform": "LOGISTIC",
        },
        X,
        [[7, 8], [[0.88079708, 0.11920292], [0.04742587, 0.95257413]]],
    ),
    "support vectors": (
        "SVMRegressor",
        {
            "kernel_type": "RBF",
            "kernel_params": [0.5, 0.0, 3.0],
            "n_supports": 2,
            "support_vectors": [0.5, -2.0, 1.0, 0.0, 3.0, 0.0],
            "coefficients": [2.0, -1.0],
            "rho": [0.25],
        },
        X,
        [[[2.2499981], [-0.3565298]]],
    ),
    "probabilities of three classes": (
        "SVMClassifier",
        {
            "kernel_type": "LINEAR",
            "kernel_params": [0.0, 0.0, 0.0],
            "vectors_per_class": [1, 1, 1],
            "support_vectors": [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
            "coefficients": [1.0, -1.0, -1.0, 1.0, 1.0, -1.0],
            "rho": [0.0, 0.0, 0.0],
            "prob_a": [-1.0, -2.0, -0.5],
            "prob_b": [0.0, 0.0, 0.0],
            "classlabels_ints": [1, 2, 3],
        },
        X,
        [[3, 2], [[0.26240778, 0.07948563, 0.65810663], [0.05692881, 0.87670463, 0.06636646]]],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_operator(case: str) -> None:
    op, attributes, x, expected = CASES[case]
    model = model_of(op, x, ("y", "z")[: len(expected)], **attributes)
    for compiled in (False, True):
        for f, w in zip(evaluated(model, {"x": x}, compiled), expected, strict=True):
            np.testing.assert_allclose(f, w, 1e-5, 1e-6)


def test_labels_that_are_strings_become_numbers() -> None:
    attributes: dict[str, Any] = {"coefficients": [0.0, 1.0, 0.0], "intercepts": [0.0]}
    attributes["classlabels_strings"] = ["cat", "dog"]
    model = model_of("LinearClassifier", X, ("y", "z"), **attributes)
    diagnostics: list[Any] = []
    module, params = irtool.from_onnx(model, say=diagnostics.append)
    assert [d.code.name for d in diagnostics] == ["W1003"]
    assert "0 is 'cat', 1 is 'dog'" in diagnostics[0].message
    np.testing.assert_array_equal(irtool.evaluate(module, {"x": X, **params})[0], [0, 1])


@pytest.mark.parametrize(
    ("op", "attributes", "text"),
    [
        ("OneHotEncoder", {"cats_strings": ["a"]}, "strings"),
        ("CastMap", {}, "CastMap"),
        ("Scaler", {"offset": [1.0, 2.0], "scale": [1.0, 2.0]}, "2 numbers"),
        ("LinearRegressor", {"coefficients": [1.0, 2.0]}, "coefficients"),
        ("TreeEnsembleRegressor", {"nodes_treeids": [0], "nodes_nodeids": [0]}, "differ in length"),
        (
            "TreeEnsembleRegressor",
            {
                "nodes_treeids": [0, 0],
                "nodes_nodeids": [0, 1],
                "nodes_modes": ["BRANCH_LEQ", "BRANCH_LEQ"],
                "nodes_featureids": [0, 0],
                "nodes_values": [0.0, 0.0],
                "nodes_truenodeids": [1, 0],
                "nodes_falsenodeids": [1, 0],
            },
            "no trees",
        ),
    ],
)
def test_refusals(op: str, attributes: dict[str, Any], text: str) -> None:
    with pytest.raises(IrError, match=text):
        irtool.from_onnx(model_of(op, X, **attributes))
