r"""Formulas of docstrings as plain text for a terminal.

The library pylatexenc converts all of TeX, but drops the brackets of fractions and sums, and would be another
dependency.
"""

import re

_WORDS = {
    r"\\l[vV]ert|\\r[vV]ert": "|",
    r"\\(?:left|right|lVert|rVert|,|!|;|quad|qquad)(?![a-zA-Z])": " ",
    r"\\leq?(?![a-zA-Z])": "<=",
    r"\\geq?(?![a-zA-Z])": ">=",
    r"\\iff(?![a-zA-Z])": "<=>",
    r"\\cdot(?![a-zA-Z])": "*",
    r"\\cap(?![a-zA-Z])": "and",
    r"\\varphi": "phi",
    r"\\varepsilon": "epsilon",
    r"\\([{} ])": r"\1",
    r"\\([a-zA-Z]+)": r"\1",
}


def plain(tex: str) -> str:
    r"""Return a formula in TeX as one line of text.

    Examples
    --------
    >>> plain(r"\frac{1}{N} \sum_{t=1}^{K} \mathrm{rel}(t) \frac{P + 1}{t}")
    '1/N sum_{t=1}^K rel(t) (P + 1)/t'
    >>> plain(r"V(R) = \sum_{r \le R} \binom{Q}{r}")
    'V(R) = sum_{r <= R} C(Q, r)'
    """
    text = " ".join(tex.split())
    text = re.sub(r"\\(?:mathrm|text)\{([^{}]*)\}", r"\1", text)
    group = r"\{((?:[^{}]|\{[^{}]*\})*)\}"
    while (match := re.search(rf"\\(frac|binom){group}{group}", text)) is not None:
        whole, over, under = match[0], match[2], match[3]
        plain_form = f"{_bracketed(over)}/{_bracketed(under)}" if match[1] == "frac" else f"C({over}, {under})"
        text = text.replace(whole, plain_form)
    for pattern, words in _WORDS.items():
        text = re.sub(pattern, words, text)
    text = re.sub(r"([_^])\{(\w)\}", r"\1\2", text)
    return re.sub(r"\s+([,.)])", r"\1", " ".join(text.split()))


def _bracketed(term: str) -> str:
    return term if re.fullmatch(r"\\?(?:\w|@|\^\+)+(?:\([^()]*\))?|\|\w+\|", term) else f"({term})"
