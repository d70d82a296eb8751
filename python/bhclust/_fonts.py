"""Letters that a picture can show: fonts that have them, and words for those that no font has."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_WEIGHTS = {"normal": 400, "bold": 700}
# Fonts of placeholders, and of formulas with an order of letters of their own.
_NO_TEXT = re.compile(r"last ?resort|^cm[a-z]+\d+$|STIXSize|STIXNonUnicode", re.IGNORECASE)
_SOUND = re.compile(r".* (?:LETTER|SYLLABLE|VOWEL SIGN)(?: SMALL| CAPITAL)? (.+)")
_INVISIBLE = ("Cc", "Cf", "Mn", "Me", "Zl", "Zp")


@dataclass(frozen=True)
class Script:
    """How texts are written: for each weight the families of fonts, first the usual ones.

    `lacking` are the letters that no font has in a weight, `replaced` what is written in place of
    those that none has at all.
    """

    families: dict[str, list[str]]
    lacking: dict[str, frozenset[str]]
    replaced: dict[str, str]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Script:
        """Find fonts for all letters of the texts, as far as the machine has them.

        They are looked for among all fonts only where the usual ones lack a letter.
        """
        from matplotlib.font_manager import FontProperties

        usual = list(FontProperties().get_family())
        letters = set().union(*map(set, texts))
        families, lacking = {}, {}
        for weight, number in _WEIGHTS.items():
            families[weight] = list(usual)
            rest = letters - _letters_of(_usual_font(weight))
            for family, path in _fonts(number) if rest else ():
                gained = rest & _letters_of(path)
                if gained:
                    families[weight].append(family)
                    rest -= gained
                if not rest:
                    break
            lacking[weight] = frozenset(rest)
        known = letters - lacking["normal"]
        replaced = {letter: _spelled(letter, known) for letter in lacking["normal"]}
        return cls(families, lacking, replaced)

    def clean(self, text: str) -> str:
        """Replace letters that no font has by what can be read, such as ``[4E2D 6587]``."""
        if self.replaced.keys().isdisjoint(text):
            return text
        shown = "".join(self.replaced.get(letter, letter) for letter in text)
        return " ".join(re.sub(r"(?<=[0-9A-F])\]\[(?=[0-9A-F]{4})", " ", shown).split())

    def weight(self, text: str, wanted: str) -> str:
        """Give the wanted weight, or normal where its fonts lack a letter of the text."""
        return wanted if self.lacking[wanted].isdisjoint(text) else "normal"

    def face(self, text: str, wanted: str = "normal") -> dict[str, Any]:
        """Give the fonts and the weight for a text, as matplotlib takes them."""
        weight = self.weight(text, wanted)
        return {"family": self.families[weight], "weight": weight}


def _usual_font(weight: str) -> str:
    from matplotlib.font_manager import FontProperties, findfont

    return findfont(FontProperties(weight=weight))


def _fonts(weight: int) -> list[tuple[str, str]]:
    """List the machine's upright fonts of a weight, family and file, those without serifs first."""
    from matplotlib.font_manager import fontManager

    fonts = [
        font
        for font in fontManager.ttflist
        if font.style == "normal"
        and _number(font.weight) == weight
        and not _NO_TEXT.search(font.name)
    ]
    fonts.sort(key=lambda font: ("Sans" not in font.name, font.name, font.fname))
    return list({font.name: font.fname for font in reversed(fonts)}.items())[::-1]


def _number(weight: Any) -> Any:
    """Give a weight as a number: fonts have it as a word or as a number."""
    from matplotlib.font_manager import weight_dict

    return weight_dict.get(weight, weight)


def _letters_of(path: str) -> set[str]:
    from matplotlib.font_manager import get_font

    try:
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
    name = unicodedata.name(letter, "")
    if kind in _INVISIBLE or name.endswith("PROLONGED SOUND MARK"):
        return ""
    plain = unicodedata.normalize("NFKD", letter)
    plain = "".join(part for part in plain if unicodedata.category(part) != "Mn")
    if plain != letter and set(plain) <= known | ascii_letters:
        return plain
    sound = _SOUND.fullmatch(name)
    if sound:
        return sound[1].lower()
    if kind.startswith("S") and name:
        return f":{name.lower()}:"
    return f"[{ord(letter):04X}]"
