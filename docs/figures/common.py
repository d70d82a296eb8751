"""Colours and the table that several figures share."""

from __future__ import annotations

import numpy as np

import bhclust

# Told apart with any colour vision (after Okabe and Ito).
COLOURS = np.array(["#0072B2", "#D55E00", "#009E73", "#AA4499", "#B07800", "#3D8FBF"])
INK, FAINT, LIGHT = "#22282f", "#8a949e", "#d5dae0"


def three_groups(each=20, seed=1):
    """Rows about three centres, two of which are near each other."""
    rng = np.random.default_rng(seed)
    centres = [(0, 0), (3.5, 0), (0, 7)]
    return np.vstack([rng.normal(centre, 1.0, (each, 2)) for centre in centres])


def colours_of(labels):
    """A colour a row; clusters beyond the sixth take the first again."""
    return COLOURS[np.asarray(labels) % len(COLOURS)]


def fitted(X, family="gaussian-diag"):
    """The learned posterior of a table."""
    return bhclust.BHC(family=family).fit(X).posterior_


def places(tree):
    """Horizontal places of the nodes: leaves side by side, merges midway over their children."""
    order, stack = [], list(tree.roots[::-1])
    while stack:
        node = stack.pop()
        if node < tree.n_leaves:
            order.append(node)
        else:
            stack.extend(tree.children[node - tree.n_leaves][::-1])
    x = np.empty(tree.n_nodes)
    x[order] = np.arange(tree.n_leaves)
    for merge, (left, right) in enumerate(tree.children):
        x[tree.n_leaves + merge] = (x[left] + x[right]) / 2
    return x, np.array(order)


def draw_tree(ax, tree, height, colours, **style):
    """Brackets of a tree; one colour a merge."""
    x, order = places(tree)
    for merge, (left, right) in enumerate(tree.children):
        top = height[tree.n_leaves + merge]
        ax.plot(
            [x[left], x[left], x[right], x[right]],
            [height[left], top, top, height[right]],
            color=colours[merge],
            solid_joinstyle="round",
            **style,
        )
    ax.set_xlim(-0.7, tree.n_leaves - 0.3)
    ax.spines["bottom"].set_visible(False)
    ax.tick_params(bottom=False)
    return x, order
