"""A contact sheet of proposed pairs: an HTML page for judging them by eye and saving the judgements."""

import base64
import contextlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, need
from protocol.duplicates.inputs import Items, opened_images
from protocol.duplicates.proposals import Proposals
from protocol.provenance.storage import replacing
from protocol.scores.tables import templates

PACKAGE_DATA = "sheet.html.j2"
JUDGEMENTS = ("exact copy", "near-duplicate", "very similar", "different")
"""Names of the judgements 0 to 3, as in the lists of ciFAIR."""
_LONGEST = 128  # pixels, of the longer side of an image on the sheet
_LOSSLESS = 64  # pixels; PNG is small for images up to this size


def contact_sheet(path: str | Path, proposals: Proposals, query: Any, database: Any = None) -> None:
    """Write proposed pairs of images as one HTML file, for judging them in a browser and saving the result as CSV.

    Parameters
    ----------
    path : str or Path
    proposals : Proposals
        Result of `find_duplicates`.
    query : path or array_like
        The images of the queries that were passed to it.
    database : path or array_like
        The images of the database that were passed to it.

    Raises
    ------
    ProtocolError
        If the proposals are vectors, or the images can't be read.

    Notes
    -----
    The CSV file has the columns ``query,database,distance,judgement``, which `protocol.audit` accepts as known pairs.
    The distance is 1 minus the score.
    """
    if proposals.kind != "images":
        raise ProtocolError("contact sheet: vectors can't be shown, only images.")
    template = templates(Path(__file__).parent).get_template(PACKAGE_DATA)
    with contextlib.ExitStack() as stack:
        left = stack.enter_context(opened_images(query, "query", image_size=_LONGEST))
        same = database is None
        right = left if same else stack.enter_context(opened_images(database, "database", image_size=_LONGEST))
        cards = [
            row
            | {
                "left": _picture(left, int(proposals.pairs.query[i])),
                "right": _picture(right, int(proposals.pairs.database[i])),
                "distance": f"{1 - row['score']:.6f}",
                "label": f"{row['rank']}{_letters(row['choice'])}",
            }
            for i, row in enumerate(proposals.records())
        ]
    page = template.render(about=proposals.about, cards=cards, judgements=JUDGEMENTS, n_proposals=len(proposals))
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")


def _letters(choice: int) -> str:
    """Return the letters of a query's partner.

    Examples
    --------
    >>> _letters(1), _letters(2), _letters(26), _letters(27), _letters(28)
    ('', 'b', 'z', 'aa', 'ab')
    """
    letters, left = "", 0 if choice == 1 else choice
    while left:
        left, letter = divmod(left - 1, 26)
        letters = chr(ord("a") + letter) + letters
    return letters


def _picture(items: Items, row: int) -> str:
    """Return an image as a data URI."""
    cv2 = need("cv2", "pipeline")
    image: NDArray[np.uint8] = np.asarray(items.rows[row : row + 1])[0]
    scale = _LONGEST / max(image.shape[:2])
    if scale < 1:
        size = tuple(max(1, round(side * scale)) for side in image.shape[1::-1])
        image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    shown = np.ascontiguousarray(image[..., ::-1]) if image.ndim == 3 else image  # OpenCV uses BGR
    if max(image.shape[:2]) <= _LOSSLESS:
        kind, encoded = "png", cv2.imencode(".png", shown)[1]
    else:
        kind, encoded = "jpeg", cv2.imencode(".jpg", shown, [cv2.IMWRITE_JPEG_QUALITY, 90])[1]
    return f"data:image/{kind};base64,{base64.b64encode(encoded.tobytes()).decode()}"
