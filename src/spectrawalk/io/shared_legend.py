"""Whether the numbers of two runs mean the same clusters, from their records."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


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
    if one.get("steps") != other.get("steps"):
        return ""  # clusters were merged or split by hand
    for why, found in (
        ("both are labelled with one model", _models),
        ("both are cuts of one tree", _trees),
        ("both are scenes of one run", _joint_runs),
    ):
        if found(one) & found(other):
            return why
    return ""


def _outputs(record: dict[str, Any], names: Sequence[str]) -> set[str]:
    outputs = record.get("outputs")
    if not isinstance(outputs, dict):
        return set()
    return {outputs[name] for name in names if name in outputs}


def _checksums(entries: Any) -> set[str]:
    entries = entries if isinstance(entries, list) else [entries]
    return {each["sha256"] for each in entries if isinstance(each, dict) and "sha256" in each}


def _models(record: dict[str, Any]) -> set[str]:
    return _outputs(record, ["model.npz"]) | _checksums(record.get("model"))


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
