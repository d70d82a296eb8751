"""The answers a report begins with, and how many clusters there may be."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from ._describe import percent_in_words
from ._page import counted
from ._report_findings import SURE, Found, doubtful_rows
from ._report_markup import bar
from .metrics import adjusted_rand_index

_MOST_APART = 3


def answers(found: Found) -> str:
    """Say in a few lines what there is to know first."""
    rows = counted(len(found.labels), found.unit)
    told = [("How many clusters", *_how_many(found)), ("How sure", *_how_sure(found))]
    told.append(("Doubtful", *_how_doubtful(found)))
    if found.n_clusters > 1:
        told.append(("What sets them apart", "", _what_apart(found), "clusters"))
    known = [row for row, name in enumerate(found.classes or ()) if name]
    classes = [found.classes[row] for row in known] if found.classes else []
    if len(set(classes)) > 1:
        index = adjusted_rand_index(found.labels[known], classes)
        words = (
            "is the adjusted Rand index with the known classes: 1 where they are the same, 0 where "
            "they agree as by chance. The classes were not clustered on."
        )
        told.append(("Known classes", f"{index:.2f}", words, ""))
    items = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{f'<b>{escape(short)}</b> ' if short else ''}"
        + escape(words)
        + (f' <a href="#{place}">More</a>' if place else "")
        + "</dd></div>"
        for what, short, words, place in told
    )
    lead = f"{counted(found.n_clusters, 'clusters')} in {rows}."
    return (
        '<a class="skip" href="#clusters">To the table of the clusters</a>\n'
        f"<p>{escape(lead)} <span class='faint'>Log evidence "
        f"{found.post.log_evidence:,.2f} nats; {counted(len(found.widths), 'columns')}.</span></p>"
        f"\n<dl class='answers'>{items}</dl>"
    )


def _how_many(found: Found) -> tuple[str, str, str]:
    if found.chances is None:
        expected = found.post.expected_n_clusters()
        return f"{found.n_clusters:,}", f"({expected:,.1f} on average)", "number"
    low, high = _range(found.chances, 0.95)
    span = f"{low:,}" if low == high else f"{low:,} to {high:,}"
    chance = _chance(float(found.chances[low - 1 : high].sum()))
    return f"{found.n_clusters:,}", f"({span} with a chance of {chance})", "number"


def _how_sure(found: Found) -> tuple[str, str, str]:
    sizes = np.bincount(found.labels)
    sure = np.bincount(found.labels, weights=found.sure) / sizes
    least = int(np.argmin(sure))
    words = "is the mean chance, by this tree, that rows of a cluster belong together"
    if found.n_clusters > 1:
        words += f"; least sure is cluster {least} ({percent_in_words(float(sure[least]))})"
    return percent_in_words(float(found.sure.mean())), f"{words}.", "clusters"


def _how_doubtful(found: Found) -> tuple[str, str, str]:
    many = len(doubtful_rows(found))
    words = (
        f"of {counted(len(found.labels), found.unit)} may belong elsewhere: set aside, they find "
        f"back to their cluster with a chance below {SURE:.0%}."
    )
    return f"{many:,}", words, "doubtful" if many else ""


def _what_apart(found: Found) -> str:
    """Say what marks the largest clusters, which have the first numbers."""
    largest = np.argsort(-np.bincount(found.labels), kind="stable")[:_MOST_APART]
    marks = {
        label: ", ".join(trait.short for trait in found.traits[label][:2])
        for label in sorted(largest.tolist())
    }
    told = "; ".join(f"cluster {label}: {short}" for label, short in marks.items() if short)
    if not told:
        return "No column does by itself."
    return f"{told}{'; …' if found.n_clusters > len(largest) else '.'}"


def number_of_clusters(found: Found) -> str:
    """Show the chances of the numbers of clusters."""
    here = found.n_clusters
    expected = f"{found.post.expected_n_clusters():,.1f}"
    head = "<section id='number'><h2>How many clusters</h2>"
    chances = found.chances
    if chances is None:
        return (
            f"{head}\n<p>On average over the posterior there are {expected} clusters.</p></section>"
        )
    best = int(np.argmax(chances)) + 1
    low, high = _range(chances, 0.95)
    told = (
        f"The most probable number is {best:,} ({_chance(chances[best - 1])}); "
        + (f"{low:,}" if low == high else f"from {low:,} to {high:,}")
        + f" with a chance of {_chance(float(chances[low - 1 : high].sum()))}; "
        f"{expected} on average. The clusters below are {here:,}."
    )
    if best != here and found.cut != "as given":
        told += (
            " The two differ because the clusters are the one most probable partition, while many"
            " partitions share a number."
        )
    left = max(0, min(low, here if here >= low - 12 else low) - 1)
    right = max(high, here if here <= high + 12 else high)
    if right - left > 40:
        left, right = max(0, best - 20), min(best + 20, len(chances))
    rows = "".join(
        f"<tr{' class=chosen' if number == here else ''}><td class='number'>{number:,}</td>"
        f"<td class='number'>{_chance(chances[number - 1])}</td>"
        f"<td>{bar(float(chances[number - 1] / chances.max()))}</td></tr>"
        for number in range(left + 1, min(right, len(chances)) + 1)
    )
    return (
        f"{head}\n<p>{escape(told)}</p>\n<table class='narrow'><thead><tr>"
        "<th class='number' scope='col'>clusters</th><th class='number' scope='col'>chance</th>"
        f"<td></td></tr></thead><tbody>{rows}</tbody></table></section>"
    )


def _range(chances: Any, enough: float) -> tuple[int, int]:
    """Find the shortest run of numbers of clusters that hold so much of the posterior."""
    best = int(np.argmax(chances))
    low = high = best
    total = float(chances[best])
    while total < enough and (low > 0 or high < len(chances) - 1):
        below = float(chances[low - 1]) if low > 0 else -1.0
        above = float(chances[high + 1]) if high < len(chances) - 1 else -1.0
        if below >= above:
            low -= 1
        else:
            high += 1
        total += max(below, above)
    return low + 1, high + 1


def _chance(chance: float) -> str:
    return f"{chance:.1%}" if 0.0005 <= chance < 0.9995 else percent_in_words(chance)
