"""Whether the numbers of two runs mean the same clusters, from their records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

_APPEARANCE = {"name", "color", "hide"}
"""Steps that change how clusters are shown, and not which pixels they have."""

_OF_FIT = ("method", "pixels_sha256", "parameters", "spectrawalk")


def shared_legend(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Say why the numbers of two maps mean the same clusters; nothing if that is not known.

    So it is where both maps come from one model, from one tree, or from one run over several
    scenes.

    Parameters
    ----------
    one, other : dict
        Records of the runs; empty where there is none.

    Examples
    --------
    >>> fit = {"outputs": {"model.npz": "4d1e"}}
    >>> shared_legend(fit, {"command": "predict", "model": {"sha256": "4d1e"}})
    'both are labelled with one model'
    >>> shared_legend(fit, {})
    ''
    """
    return "" if edited_apart(one, other) else common_origin(one, other)


def edited_apart(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether clusters of one map were merged, split or drawn by hand, and not so in the other.

    Examples
    --------
    >>> edited_apart({"steps": [{"op": "name", "cluster": 0, "name": "maize"}]}, {})
    False
    >>> edited_apart({"steps": [{"op": "merge", "clusters": [0, 1]}]}, {})
    True
    """
    return bool(_edits(one) != _edits(other))


def common_origin(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Say what two maps come from, whatever was edited by hand since; nothing if not known.

    Examples
    --------
    >>> common_origin({"cut_from": {"sha256": "7a"}}, {"outputs": {"tree.npz": "7a"}})
    'both are cuts of one tree'
    """
    for why, found in (
        ("both are labelled with one model", _models),
        ("both are cuts of one tree", _trees),
        ("both are scenes of one run", _joint_runs),
    ):
        if found(one) & found(other):
            return why
    return ""


def fit_entry(record: dict[str, Any]) -> dict[str, Any] | None:
    """Return what tells a run from all others, for the record of a prediction with its model.

    Examples
    --------
    >>> fit_entry({"pixels_sha256": None}) is None  # a run in tiles
    True
    """
    times = record.get("times")
    started = times.get("started") if isinstance(times, dict) else None
    if not (record.get("method") and record.get("pixels_sha256") and started):
        return None
    return {key: record.get(key) for key in _OF_FIT} | {"times": {"started": started}}


def is_clustered(record: dict[str, Any]) -> bool:
    """Whether a record states the run that found the clusters."""
    return "method" in record or _fit(record) is not None


def _fit(record: dict[str, Any]) -> dict[str, Any] | None:
    """Entry of the run that fitted the clusters of a map."""
    model = record.get("model")
    known = model.get("fit") if isinstance(model, dict) else record
    return fit_entry(known) if isinstance(known, dict) else None


def _edits(record: dict[str, Any]) -> Any:
    """Steps that change what the numbers of the clusters mean."""
    steps = record.get("steps") or []
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        return steps
    # A polygon with a name goes to the cluster that has this name.
    by_name = any(step.get("op") == "polygon" and "name" in step for step in steps)
    ignored = _APPEARANCE - {"name"} if by_name else _APPEARANCE
    return [step for step in steps if step.get("op") not in ignored]


def _outputs(record: dict[str, Any], names: Sequence[str]) -> set[str]:
    outputs = record.get("outputs")
    if not isinstance(outputs, dict):
        return set()
    return {outputs[name] for name in names if name in outputs}


def _checksums(entries: Any) -> set[str]:
    entries = entries if isinstance(entries, list) else [entries]
    return {each["sha256"] for each in entries if isinstance(each, dict) and "sha256" in each}


def _models(record: dict[str, Any]) -> set[str]:
    """Checksums of the model of a map, and what tells that another file is of the same fit."""
    found, fit = _outputs(record, ["model.npz"]) | _checksums(record.get("model")), _fit(record)
    return found | ({json.dumps(fit, sort_keys=True, default=str)} if fit else set())


def _trees(record: dict[str, Any]) -> set[str]:
    """Checksums of the trees of a run, and what tells that another run made the same tree."""
    found = _outputs(record, ["tree.npz", "leaves.npz"]) | _checksums(record.get("cut_from"))
    if found and record.get("pixels_sha256"):
        found.add(_same_tree(record, record["pixels_sha256"]))
    return found


def _joint_runs(record: dict[str, Any]) -> set[str]:
    tiles = record.get("tiles")
    scenes = tiles.get("scenes") if isinstance(tiles, dict) else None
    if not isinstance(scenes, list) or len(scenes) < 2:
        return set()
    return {_same_tree(record, scenes)}


def _same_tree(record: dict[str, Any], data: Any) -> str:
    """Text that two runs share if they made the same tree, wherever they cut it."""
    parameters = record.get("parameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    without_cut = {key: value for key, value in parameters.items() if key != "n_clusters"}
    return json.dumps([data, without_cut, record.get("spectrawalk")], sort_keys=True, default=str)
