"""Checks of what pictures and reports are given; messages name the argument and the remedy."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ._condense import Ints, PosteriorLike
from .options import check_path


def checked_post(post: Any) -> PosteriorLike:
    """Refuse what is not a posterior, such as the tree or the estimator that has one."""
    parts = ("tree", "log_odds", "height", "cut")
    if isinstance(post, type) or not all(hasattr(post, part) for part in parts):
        raise TypeError(
            f"post must be a Posterior, not {_kind(post)}; bhclust.posterior(tree, X, family) "
            "makes one, and a fitted estimator has it as posterior_"
        )
    known: PosteriorLike = post
    return known


def checked_labels(post: PosteriorLike, labels: ArrayLike | None) -> Ints:
    """Give labels as int64, by default those of the posterior's cut; refuse what cannot be some."""
    n = post.tree.n_leaves
    try:
        values = np.asarray(post.cut() if labels is None else labels)
    except ValueError:
        raise ValueError(
            f"labels: entries of different lengths found, one number for each of {n} rows needed"
        ) from None
    if values.shape != (n,):
        raise ValueError(f"labels: shape {values.shape} found, ({n},) needed: one for each row")
    if values.dtype.kind not in "iu":
        raise ValueError(
            "labels: whole numbers from 0 up are needed, as post.cut() gives them; "
            f"{values.dtype} found"
        )
    wrong = np.flatnonzero((values < 0) | (values >= n))
    if wrong.size:
        raise ValueError(
            "labels: whole numbers from 0 up are needed, as post.cut() gives them; "
            f"labels[{wrong[0]}] is {values[wrong[0]]}"
            + (f", for {n} rows at most {n - 1}" if values[wrong[0]] > 0 else "")
        )
    return values.astype(np.int64)


def checked_texts(values: Iterable[Any] | None, n: int, argument: str) -> list[str] | None:
    """Give one line of text for each row, or None where there are no values."""
    if values is None:
        return None
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{argument} is one text; give a sequence with one for each of {n} rows")
    try:
        texts = [" ".join(str(value).split()) for value in values]
    except TypeError:
        raise TypeError(
            f"{argument} must be a sequence with one text for each of {n} rows, not {_kind(values)}"
        ) from None
    if len(texts) != n:
        raise ValueError(f"{argument}: {len(texts)} given for {n} rows; give one for each row")
    return texts


def checked_text(value: Any, argument: str) -> str:
    """Give a text as one line."""
    if not isinstance(value, str):
        raise TypeError(f"{argument} must be a text, not {_kind(value)}")
    return " ".join(value.split())


def checked_axes(ax: Any) -> Any:
    """Refuse what cannot be drawn on; None stands for axes yet to be made."""
    if ax is None:
        return None
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        remedy = (
            "choose one of them, such as ax[0]"
            if isinstance(ax, (np.ndarray, list, tuple))
            else "figure.subplots() makes one"
        )
        raise TypeError(f"ax must be one Axes of matplotlib, not {_kind(ax)}; {remedy}")
    if ax.name != "rectilinear":
        raise ValueError(
            f"ax has the projection '{ax.name}'; plain axes are needed, as figure.subplots() makes"
        )
    return ax


def checked_format(destination: Any, file_format: str | None) -> str:
    """Find the format of a picture: the one named, else the file's ending, else PNG."""
    from matplotlib.backend_bases import FigureCanvasBase

    known = sorted(FigureCanvasBase.get_supported_filetypes())
    where, found = "file_format", file_format
    if found is None:
        if not isinstance(destination, (str, os.PathLike)):
            if not hasattr(destination, "write"):
                raise TypeError(
                    "destination must be a path or a binary file open for writing, not "
                    + _kind(destination)
                )
            return "png"
        place = check_path("destination", destination)
        where, found = f"destination: '{place}'", place.suffix[1:] or "png"
    if not isinstance(found, str) or found.lower() not in known:
        raise ValueError(
            f"{where}: the format {found!r} is not known; choose from {', '.join(known)}"
        )
    return found.lower()


def _kind(value: Any) -> str:
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    article = "an" if name[:1] in "AEIOUaeiou" else "a"
    return f"the class {name}" if isinstance(value, type) else f"{article} {name}"
