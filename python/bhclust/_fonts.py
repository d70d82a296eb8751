"""Letters that a picture can show: fonts that have them, and words for those that no font has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_WEIGHTS = ("normal", "bold")
# Fonts of placeholders, and of formulas with an order of letters of their own.
_NO_TEXT = re.compile(r"last ?resort|^cm[a-z]+\d+$|STIXSize|STIXNonUnicode", re.IGNORECASE)
_SOUND = re.compile(r".* (?:LETTER|SYLLABLE|VOWEL SIGN)(?: SMALL| CAPITAL)? (.+)")
_INVISIBLE = ("Cc", "Cf", "Mn", "Me", "Zl", "Zp")


@dataclass(frozen=True)
class Script:
    """How texts are written: families of fonts, first the usual ones, and letters to replace."""

    families: list[str]
    replaced: dict[str, dict[str, str]]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Script:
        """Find fonts for all letters of the texts, as far as the machine has them.

        They are looked for among all fonts only where the usual ones lack a letter.
        """
        from matplotlib.font_manager import FontProperties

        families = list(FontProperties().get_family())
        letters = set().union(*map(set, texts))
        lacking = {weight: letters - _letters_of(families[0], weight) for weight in _WEIGHTS}
        for family in _families() if any(lacking.values()) else ():
            gained = {weight: _letters_of(family, weight) & lacking[weight] for weight in _WEIGHTS}
            if any(gained.values()):
                families.append(family)
                lacking = {weight: lacking[weight] - gained[weight] for weight in _WEIGHTS}
            if not any(lacking.values()):
                break
        replaced = {
            weight: {letter: _spelled(letter, letters - lacking[weight]) for letter in found}
            for weight, found in lacking.items()
        }
        return cls(families, replaced)

    def clean(self, text: str, weight: str = "normal") -> str:
        """Replace letters that no font has by what can be read, such as ``[4E2D 6587]``."""
        replaced = self.replaced[weight]
        if replaced.keys().isdisjoint(text):
            return text
        shown = "".join(replaced.get(letter, letter) for letter in text)
        return " ".join(re.sub(r"(?<=[0-9A-F])\]\[(?=[0-9A-F]{4})", " ", shown).split())


def _families() -> list[str]:
    """List the machine's families of fonts, upright ones without serifs first."""
    from matplotlib.font_manager import fontManager

    fonts = [font for font in fontManager.ttflist if not _NO_TEXT.search(font.name)]
    fonts.sort(key=lambda font: (font.style != "normal", "Sans" not in font.name, font.name))
    return list(dict.fromkeys(font.name for font in fonts))


def _letters_of(family: str, weight: str) -> set[str]:
    from matplotlib.font_manager import FontProperties, findfont, get_font

    try:
        path = findfont(FontProperties(family=family, weight=weight))
        font: Any = get_font(path)
        return set(map(chr, map(int, font.get_charmap())))
    except (OSError, RuntimeError, ValueError):
        # A font that cannot be read, as those of coloured pictures, helps nobody.
        return set()


def _spelled(letter: str, known: set[str]) -> str:
    """Write a letter with letters that can be shown."""
    ascii_letters = set(map(chr, range(32, 127)))
    kind = unicodedata.category(letter)
    if kind == "Cs":
        return "?"
    if kind in _INVISIBLE:
        return ""
    plain = unicodedata.normalize("NFKD", letter)
    plain = "".join(part for part in plain if unicodedata.category(part) != "Mn")
    if plain != letter and set(plain) <= known | ascii_letters:
        return plain
    name = unicodedata.name(letter, "")
    sound = _SOUND.fullmatch(name)
    if sound:
        return sound[1].lower()
    if kind.startswith("S") and name:
        return f":{name.lower()}:"
    return f"[{ord(letter):04X}]"
