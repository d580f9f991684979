"""Models of scikit-learn, written by skl2onnx, against ONNX Runtime: labels, probabilities, decisions."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import irtool

pytestmark = pytest.mark.promise("networks in ONNX")

MODELS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "random forest of two classes": ("ensemble.RandomForestClassifier", {"n_estimators": 10}, 2),
    "random forest of four classes": ("ensemble.RandomForestClassifier", {"n_estimators": 10, "max_depth": 5}, 4),
    "random forest of labels that are strings": ("ensemble.RandomForestClassifier", {"n_estimators": 5}, "strings"),
    "random forest, regression": ("ensemble.RandomForestRegressor", {"n_estimators": 10}, 0),
    "extra trees": ("ensemble.ExtraTreesClassifier", {"n_estimators": 10}, 3),
    "gradient boosting of two classes": ("ensemble.GradientBoostingClassifier", {"n_estimators": 10}, 2),
    "gradient boosting of three classes": ("ensemble.GradientBoostingClassifier", {"n_estimators": 10}, 3),
    "gradient boosting, regression": ("ensemble.GradientBoostingRegressor", {"n_estimators": 10}, 0),
    "AdaBoost": ("ensemble.AdaBoostClassifier", {"n_estimators": 5}, 3),
    "bagging": ("ensemble.BaggingClassifier", {"n_estimators": 5}, 3),
    "isolation forest": ("ensemble.IsolationForest", {"n_estimators": 10}, None),
    "decision tree": ("tree.DecisionTreeClassifier", {}, 3),
    "logistic regression of two classes": ("linear_model.LogisticRegression", {}, 2),
    "logistic regression of three classes": ("linear_model.LogisticRegression", {}, 3),
    "ridge": ("linear_model.Ridge", {}, 0),
    "a line by stochastic descent": ("linear_model.SGDClassifier", {}, 3),
    "linear support vectors": ("svm.LinearSVC", {}, 3),
    "support vectors of two classes": ("svm.SVC", {}, 2),
    "support vectors of three classes": ("svm.SVC", {"kernel": "poly"}, 3),
    "support vectors by nu": ("svm.NuSVC", {"nu": 0.3}, 3),
    "support vectors, regression": ("svm.SVR", {"kernel": "sigmoid"}, 0),
    "one class": ("svm.OneClassSVM", {}, None),
    "neighbours": ("neighbors.KNeighborsClassifier", {}, 3),
    "neighbours, regression": ("neighbors.KNeighborsRegressor", {}, 0),
    "naive Bayes": ("naive_bayes.GaussianNB", {}, 3),
    "perceptron of layers": ("neural_network.MLPClassifier", {"max_iter": 20}, 3),
    "perceptron of layers, regression": ("neural_network.MLPRegressor", {"max_iter": 20}, 0),
    "discriminant analysis": ("discriminant_analysis.LinearDiscriminantAnalysis", {}, 3),
    "means": ("cluster.KMeans", {"n_clusters": 3, "n_init": 1}, None),
    "principal components": ("decomposition.PCA", {"n_components": 2}, None),
    "scaling": ("preprocessing.StandardScaler", {}, None),
    "scaling by quartiles": ("preprocessing.RobustScaler", {}, None),
    "norms": ("preprocessing.Normalizer", {}, None),
    "polynomials": ("preprocessing.PolynomialFeatures", {}, None),
    "thresholds": ("preprocessing.Binarizer", {"threshold": 0.3}, None),
    "bins": (
        "preprocessing.KBinsDiscretizer",
        {"n_bins": 3, "encode": "ordinal", "quantile_method": "averaged_inverted_cdf"},
        None,
    ),
}


@pytest.fixture(autouse=True)
def peers(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("--peers"):
        pytest.skip("needs --peers")
    for package in ("onnxruntime", "sklearn", "skl2onnx"):
        pytest.importorskip(package)


def data(classes: Any) -> tuple[Any, Any]:
    """Rows in clusters, and what belongs to each."""
    rng = np.random.default_rng(3)
    kind = rng.integers(0, classes if isinstance(classes, int) and classes else 3, 90)
    x = (rng.standard_normal((90, 4)) + kind[:, None] * [1, -1, 0.5, 0]).astype("float32")
    if classes == "strings":
        return x, np.array(["cat", "dog", "eel"])[kind]
    return x, kind if classes else x.sum(1) + kind


def estimator(name: str, options: dict[str, Any]) -> Any:
    module, _, cls = name.rpartition(".")
    estimator_class = getattr(importlib.import_module(f"sklearn.{module}"), cls)
    return estimator_class(
        **options, **({"random_state": 0} if "random_state" in estimator_class().get_params() else {})
    )


def compare(fitted: Any, x: Any) -> None:
    """Asserts that the interpreter and C give what ONNX Runtime gives for 20 rows."""
    import onnxruntime
    from skl2onnx import to_onnx

    x = x[:20]
    model = to_onnx(fitted, x, target_opset={"": 17, "ai.onnx.ml": 3})
    session_options = onnxruntime.SessionOptions()
    session_options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), session_options)
    name = session.get_inputs()[0].name
    expected = session.run(None, {name: x})
    module, params = irtool.from_onnx(model, shapes={name: x.shape}, say=lambda d: None)
    for run in (lambda i: irtool.evaluate(module, {**i, **params}), irtool.build(module, params, cflags="-O1").run):
        outputs = run({name: x})
        for f, w in zip(outputs if isinstance(outputs, tuple | list) else [outputs], expected, strict=True):
            if isinstance(w, list):  # the maps of ZipMap
                w = np.array([[row[k] for k in sorted(row)] for row in w], "float32")
            if w.dtype == object:
                w = np.unique(w, return_inverse=True)[1]
            np.testing.assert_allclose(f, w, 1e-4, 1e-5)


@pytest.mark.parametrize("case", MODELS)
@pytest.mark.filterwarnings("ignore")
def test_model(case: str) -> None:
    name, options, classes = MODELS[case]
    x, y = data(classes)
    compare(estimator(name, options).fit(x, y), x)


@pytest.mark.parametrize("kind", ["svm.SVC", "svm.NuSVC"])
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.filterwarnings("ignore")
def test_probabilities_of_support_vectors(kind: str, classes: int) -> None:
    x, y = data(classes)
    compare(estimator(kind, {"probability": True, "nu": 0.3} if "Nu" in kind else {"probability": True}).fit(x, y), x)


@pytest.mark.filterwarnings("ignore")
def test_pipelines() -> None:
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import RandomForestClassifier, VotingClassifier
    from sklearn.feature_selection import SelectKBest
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, StandardScaler

    x, y = data(3)
    x = x.copy()
    x[::7, 1] = np.nan
    columns = ColumnTransformer([("a", StandardScaler(), [0, 2]), ("b", MinMaxScaler(), [3, 1])])
    forest = RandomForestClassifier(5, random_state=0)
    both = VotingClassifier([("a", LogisticRegression()), ("b", forest)], voting="soft", flatten_transform=False)
    for steps in (
        (columns, SimpleImputer(), LogisticRegression()),
        (SimpleImputer(strategy="median"), SelectKBest(k=2), forest),
        (SimpleImputer(), both),
    ):
        compare(make_pipeline(*steps).fit(x, y), x)
