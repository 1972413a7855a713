"""Writes linear models as ONNX."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from ._links import facts

_OPSET, _ML_OPSET = 17, 3


def _labels(labels: np.ndarray) -> dict[str, Any]:
    if labels.dtype.kind in "US":
        return {"classlabels_strings": [str(label) for label in labels]}
    if (labels != labels.astype(np.int64)).any():
        raise ValueError("ONNX has only whole numbers and words as class labels")
    return {"classlabels_ints": [int(label) for label in labels]}


def _classifier(model: Any, helper: Any) -> tuple[list, list[str]]:
    """Nodes that give `label` and, for each class, `probabilities` or `scores`."""
    coef, intercept, loss = model.coef, model.intercept, facts(model.loss)
    transform = "NONE" if not loss.probabilities else "SOFTMAX" if loss.together else "LOGISTIC"
    if len(coef) == 1:
        coef, intercept = np.vstack([-coef, coef]), np.concatenate([-intercept, intercept])
    node = helper.make_node(
        "LinearClassifier", ["input"], ["label", "scores"], domain="ai.onnx.ml", coefficients=coef.ravel().tolist(),
        intercepts=intercept.tolist(), multi_class=int(len(coef) > 2), post_transform=transform,
        **_labels(model.labels),
    )  # fmt: skip
    if transform == "LOGISTIC" and len(coef) > 2:  # one against the rest: the shares of the sum
        nodes = [node, helper.make_node("Normalizer", ["scores"], ["probabilities"], domain="ai.onnx.ml", norm="L1")]
        return nodes, ["label", "probabilities"]
    node.output[1] = "scores" if transform == "NONE" else "probabilities"
    return [node], ["label", node.output[1]]


def _regressor(model: Any, helper: Any) -> tuple[list, list[str]]:
    node = helper.make_node(
        "LinearRegressor", ["input"], ["value"], domain="ai.onnx.ml", coefficients=model.coef.ravel().tolist(),
        intercepts=model.intercept.tolist(), targets=len(model.coef),
    )  # fmt: skip
    if not facts(model.loss).log_link:
        return [node], ["value"]
    node.output[0] = "logarithm"
    return [node, helper.make_node("Exp", ["logarithm"], ["value"])], ["value"]


def export(model: Any, path: str | os.PathLike, *, format: str = "onnx") -> None:
    """Write a linear model for other programs, such as ONNX Runtime.

    The input ``input`` has one 32-bit float for each of the model's columns; for a model that was trained on a table
    these are the columns after categories became indicators (``model.column_names``). A classifier has the outputs
    ``label`` and ``probabilities``, or ``scores`` if its loss has no probabilities; a regression has ``value``.

    Parameters
    ----------
    model : Model or estimator
        A linear model, or a fitted estimator.
    path : str or path
        The file.
    format : {"onnx"}, default="onnx"
        The format.

    Examples
    --------
    >>> import parley, tempfile, os
    >>> model = parley.train([[0.0], [1.0]], [0.0, 1.0], loss="squared")
    >>> parley.export(model, os.path.join(tempfile.mkdtemp(), "model.onnx"))
    """
    if format != "onnx":
        raise ValueError(f"format {format}: only onnx can be written; `save` writes safetensors")
    try:
        from onnx import TensorProto, checker, helper, save_model
    except ImportError as error:
        raise ImportError("writing ONNX needs the package onnx: pip install parley[onnx]") from error
    from ._model import model_of

    model = model_of(model)
    nodes, names = (_regressor if model.labels is None else _classifier)(model, helper)
    word = model.labels is not None and model.labels.dtype.kind in "US"
    kinds = {"label": TensorProto.STRING if word else TensorProto.INT64}
    outputs = []
    for name in names:
        shape = ["rows"] if name == "label" else ["rows", "outputs"]
        outputs.append(helper.make_tensor_value_info(name, kinds.get(name, TensorProto.FLOAT), shape))
    columns = helper.make_tensor_value_info("input", TensorProto.FLOAT, ["rows", model.coef.shape[1]])
    imports = [helper.make_opsetid("", _OPSET), helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
    graph = helper.make_graph(nodes, "parley", [columns], outputs)
    made = helper.make_model(graph, opset_imports=imports, producer_name="parley", ir_version=8)
    checker.check_model(made)
    save_model(made, os.fspath(path))
