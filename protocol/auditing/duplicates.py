"""Find near-duplicates among images or vectors: candidates, proposed pairs, and a contact sheet for judging them."""

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from protocol import registry
from protocol.auditing.known_pairs import JUDGEMENTS
from protocol.auditing.small_images import SIZE, block_means, correlations, small_images
from protocol.checks import ProtocolError, counted, integer, need, number, suggesting
from protocol.evaluation.printed import Shown
from protocol.evaluation.progress import Progress, stage
from protocol.inputs.arrays import as_numpy, is_file, matrix_from, named, numbers_with_ids, read_array
from protocol.inputs.images import base64_png
from protocol.inputs.labels import order_of_vectors
from protocol.inputs.lists import check_distinct, ids_from
from protocol.inputs.validation import Sliceable, check_images
from protocol.parallel import Step, in_order, unreported, workers
from protocol.provenance import storage
from protocol.scores.tables import DataFrame, Table, templates, write_csv
from protocol.truth import check_rows, pair_distances

PACKAGE_DATA = "sheet.html.j2"
CANDIDATES = 10
"""Number of images that are verified for each query, and for its mirror image."""
MIRROR = 1.3
"""Factor on 1 - score for mirrored pairs, because mirroring doubles the opportunities for chance matches."""
_PRODUCTS = 1 << 23  # per matrix product, whose result has 32 MB
_VERIFIED = 64  # queries per block of the verification
_SLACK = 1e-3  # error bound of the float32 cosines that preselect pairs
_CONTENT = "content.h5"  # with the images of a dataset of the pipeline; the names of its items are in items.h5
_LONGEST = 128  # pixels, of the longer side of an image on the sheet
FURTHER = 4
"""Maximum number of other matches for a query in a proposal."""
GAP = 0.05
"""Maximum difference between the score of the first match and those of the other matches."""
_SHOWN = 10
_T = TypeVar("_T")
_Candidates = tuple[dict[str, NDArray], tuple[str, ...]]
"""The columns of candidate pairs, for `proposed`, and sentences on them."""


class Items(NamedTuple):
    """The queries or the database: images or vectors, their name for messages, and their ids (None for row numbers)."""

    rows: Sliceable
    name: str
    ids: NDArray[np.str_] | None


@dataclass(frozen=True, eq=False, repr=False)
class Proposals(Shown):
    """Possible near-duplicates, the most similar first; each query is proposed once.

    Parameters
    ----------
    pairs : DataFrame
        The row numbers of the ``query`` and the ``database`` item of each pair, and its ``score``, 1 for identical
        items. ``rank`` is 1 for the query with the most similar partner, 2 for the next one, and so on; ``choice`` is 1
        for the best partner of a query, 2 and more for partners that are about as similar. If a set is compared with
        itself, each pair is listed once, so the best partner of an item may be listed as the query instead. For images
        also the ``cosine`` of the block means, the ``correlation`` of local contrast, and 1 as ``mirrored`` if the
        score is for the pair with one image mirrored.
    query_ids : ndarray of str, or None
        The names of all queries; None if they are named by row numbers.
    database_ids : ndarray of str, or None
        The names of all database items, likewise.
    about : tuple of str
        Sentences on the inputs and the method.
    """

    pairs: DataFrame
    query_ids: NDArray[np.str_] | None
    database_ids: NDArray[np.str_] | None
    about: tuple[str, ...]

    def __len__(self) -> int:
        """Return the number of proposals, that is of queries, not of pairs."""
        return int(self.pairs["rank"].nunique())

    def records(self) -> list[dict[str, Any]]:
        """Return each pair as a dictionary: its ``query`` and ``database`` item, score, rank, choice and details."""
        named = self.pairs.round(6)
        for side, ids in (("query", self.query_ids), ("database", self.database_ids)):
            named[side] = (named[side] if ids is None else ids[named[side]]).astype(str)
        return named.to_dict("records")

    def to_csv(self, path: str | Path) -> None:
        """Write the pairs as CSV with the keys of `records`; the file is created only when it is complete."""
        write_csv(path, list(self.pairs), [list(record.values()) for record in self.records()])

    def parts(self) -> list[str | Table]:
        """Return the inputs, the method and the first proposals."""
        n_pairs = counted(len(self.pairs), "pair")
        totals = f"{counted(len(self), 'proposal')}, {n_pairs} including up to {FURTHER} more of each query"
        further, rows = self.pairs["rank"].value_counts() - 1, []
        for record in [record for record in self.records() if record["choice"] == 1][:_SHOWN]:
            partner, rank = record["database"] + " (mirrored)" * record.get("mirrored", 0), record["rank"]
            rows.append([str(rank), record["query"], partner, f"{record['score']:.4f}", str(further[rank])])
        table = Table("proposals", "", ("rank", "query", "database", "score", "further"), rows)
        more = [f"and {len(self) - _SHOWN:,} more; --csv or to_csv writes all"] * (len(self) > _SHOWN)
        return ["\n".join([*self.about, totals]), *[table] * bool(rows), *more]


@suggesting
def find_duplicates(
    query: Any,
    database: Any = None,
    *,
    vectors: bool = False,
    query_ids: Any = None,
    database_ids: Any = None,
    most: int = 1000,
    least: float | None = None,
    threads: int = 1,
    progress: Progress = None,
) -> Proposals:
    """Return pairs of a query and a database item that may be near-duplicates, the most similar first.

    Parameters
    ----------
    query : path or array_like
        The images of the queries: uint8 (n, height, width) or (n, height, width, 3) as an array or a file (``.npy``,
        ``F.npz:key``, ``F.h5:dataset``), a folder of image files, or ``content.h5`` of a dataset of the pipeline. Sizes
        may differ: the central square of every image is compared at 32 x 32 pixels. With `vectors`: numbers (n, d).
    database : path or array_like, optional
        The images or vectors of the database, likewise. If None, the queries are compared with each other.
    vectors : bool, default=False
        Whether to compare vectors, by their cosine, which is the score.
    query_ids : path or array_like, shape (n,), optional
        The names of the queries: the ids, or row numbers in a dataset, as in the lists for `protocol.audit`, each once.
        If None, the names of files, the ids next to vectors in text, or row numbers in `query`.
    database_ids : path or array_like, shape (n,), optional
        The names of the database items. If one side is an array and the other side has a list, both need one.
    most : int, default=1000
        Maximum number of queries to propose, each with its best match and up to four others that are about as
        similar.
    least : float, optional
        Minimum score of a pair, from 0 to 1; 0 by default for images, and 0.9 for vectors.
    threads : int, default=1
        Number of threads; the result does not depend on it.
    progress : callable, optional
        Called as ``progress(done, total, stage)``, as by `protocol.evaluate`.

    Returns
    -------
    Proposals
        Its string is the output of ``protocol find-duplicates``.

    Raises
    ------
    ProtocolError
        If an input can't be used, or an option is out of its range.

    Notes
    -----
    Candidates for an image are the database images whose block means have the largest cosine with those of the query,
    or of its mirror image. They are verified by the correlation of local contrast, maximised over small shifts and
    scales. The score is the mean of cosine and correlation; for mirrored pairs, its distance from 1 grows by `MIRROR`.
    Vectors are compared with all others, so that the time grows with the product of both numbers.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> database = rng.integers(0, 256, (50, 32, 32, 3), dtype=np.uint8)
    >>> query = np.concatenate([rng.integers(0, 256, (3, 32, 32, 3), dtype=np.uint8), database[7:8, :, ::-1]])
    >>> (first,) = find_duplicates(query, database, most=1).records()
    >>> first["query"], first["database"], first["mirrored"]
    ('3', '7', 1)
    """
    noun, similar, default = ("vector", _similar_vectors, 0.9) if vectors else ("image", _similar_images, 0.0)
    least = default if least is None else least
    pd = need("pandas", "report")  # before the search
    integer(most, "most")
    integer(threads, "threads")
    number(least, "least", maximum=1)
    left, right = _sides(query, database, query_ids, database_ids, vectors=vectors)
    about = f"{left.name} ({counted(len(left.rows), noun)})"
    compared = f"{about} compared with {right.name} ({len(right.rows):,})"
    if left is right:
        compared = f"pairwise within {about}"
        if len(left.rows) < 2:
            raise ProtocolError(f"{left.name}: only one item, so there is nothing to compare.")
    columns, candidates = similar(left, right, least, threads, progress)
    pairs = pd.DataFrame(columns)
    pairs = proposed(pairs[pairs["score"] >= least], most, same=left is right)
    return Proposals(pairs, left.ids, right.ids, (compared, *candidates))


def _sides(query: Any, database: Any, query_ids: Any, database_ids: Any, *, vectors: bool) -> tuple[Items, Items]:
    """Return the queries and the database, which are the same if there is no database."""
    if database is None and database_ids is not None:
        raise ProtocolError("database_ids needs database as well.")
    left = _items_of(query, "query", query_ids, vectors=vectors)
    right = left if database is None else _items_of(database, "database", database_ids, vectors=vectors)
    for items, missing, ids in ((left, "query_ids", database_ids), (right, "database_ids", query_ids)):
        if items.ids is None and ids is not None:
            raise ProtocolError(f"{missing} is needed as well, because {items.name} has no ids.")
    return left, right


def _items_of(values: Any, role: str, ids: Any, *, vectors: bool) -> Items:
    """Return the images or vectors of one side, `role`.

    Raises
    ------
    ProtocolError
        If the input or the list of ids can't be read, the list has the wrong length or an id twice.
    """
    name = named(values, role)
    rows, listed = numbers_with_ids(values, role) if vectors else _images(values, role, SIZE)
    if vectors:
        matrix_from(rows, name)
    if listed is not None:
        check_distinct(listed, name)
    if ids is None:
        return Items(rows, name, listed)
    names = ids_from(ids, f"{role}_ids", len(rows), of=f" of {name}", form="").astype(np.str_)
    if vectors and listed is not None:
        rows = np.asarray(rows)[order_of_vectors(names, listed, name)]
    return Items(rows, name, names)


def _images(values: Any, role: str, image_size: int) -> tuple[Sliceable, NDArray[np.str_] | None]:
    """Return images and the names of their files or items, None for arrays; files are resized to `image_size`."""
    path, names = Path(values) if is_file(values) else None, None
    if path is None:
        images = as_numpy(values, role)
    elif path.is_dir():
        folder = registry.get("dataset", "image_folder")({}, folder=str(path), image_size=image_size)
        images, names = folder.images, folder.ids
    elif path.name == _CONTENT:
        images = read_array(f"{path}:images")
        names = storage.decoded(storage.read(path.with_name("items.h5"), ["ids"])["ids"])
    else:
        images = read_array(values)
    if len(images.shape) == 2:
        raise ProtocolError(f"{named(values, role)}: numbers, not images. Vectors need vectors=True.")
    check_images(images, named(values, role))
    return images, names


def _similar_images(left: Items, right: Items, least: float, threads: int, progress: Progress) -> _Candidates:
    """Return the candidates for each query with their scores, and a sentence about them."""
    same = left is right
    n_channels = 3 if any(len(side.rows.shape) == 4 for side in (left, right)) else 1
    add = stage(progress, "reading images", len(left.rows) + (0 if same else len(right.rows)))
    q = small_images(left.rows, n_channels=n_channels, done=add)
    d = q if same else small_images(right.rows, n_channels=n_channels, done=add)
    add, means = stage(progress, "candidates", 2 * len(q)), block_means(d)
    search = functools.partial(best_matches, database=means, k=CANDIDATES, same=same, threads=threads, done=add)
    matches = [search(block_means(images)) for images in (q, q[..., ::-1])]
    rows, cosines = (np.concatenate(parts, axis=1) for parts in zip(*matches, strict=True))
    k, add = rows.shape[1] // 2, stage(progress, "verification", len(q))

    def verify(start: int) -> NDArray[np.float32]:
        return correlations(q[start : start + _VERIFIED], d, rows[start : start + _VERIFIED], k)

    verified = in_blocks(verify, range(0, len(q), _VERIFIED), threads, add)
    cosine, correlation = cosines.astype(np.float64).ravel(), np.concatenate(list(verified)).astype(np.float64).ravel()
    queries, columns = (index.ravel() for index in np.indices(rows.shape))
    distance = np.maximum(1 - (cosine + correlation) / 2, 0)
    score = 1 - np.where(columns >= k, MIRROR * distance, distance)
    pairs: dict[str, NDArray] = {"query": queries, "database": rows.ravel(), "score": score}
    pairs |= {"cosine": cosine, "correlation": correlation, "mirrored": (columns >= k).astype(int)}
    sentence = f"candidates: the {k} most similar items of each query and of its mirror image; other pairs are not "
    return pairs, (f"{sentence}checked",)


def _similar_vectors(left: Items, right: Items, least: float, threads: int, progress: Progress) -> _Candidates:
    """Return the most similar partners of each query with their cosines in float64, and sentences about them."""
    X, Z, same = np.asarray(left.rows), np.asarray(right.rows), left is right
    if X.shape[1] != Z.shape[1]:
        other = f"those of {right.name} have {Z.shape[1]:,}"
        raise ProtocolError(f"{left.name}: vectors of {X.shape[1]:,} dimensions, but {other}.")
    check_rows(X, left.name, unit=True)
    check_rows(Z, right.name, unit=True)
    add, unit = stage(progress, "comparing vectors", len(X)), _unit(Z)
    rows, values = best_matches(unit if same else _unit(X), unit, FURTHER + 1, same=same, threads=threads, done=add)
    i, column = np.nonzero(values >= least - _SLACK)
    score = 1 - pair_distances(X, Z, i, rows[i, column], distance="cosine", threads=threads)
    sentences = ("candidates: all pairs", f"proposed: pairs with a cosine of at least {least:g}")
    return {"query": i, "database": rows[i, column], "score": score}, sentences


def _unit(X: NDArray) -> NDArray[np.float32]:
    """Return the rows, none of which is zero, scaled to unit length."""
    scaled = X / np.abs(X).max(axis=1, keepdims=True)  # squares of numbers below 1e-162 would underflow
    return (scaled / np.linalg.norm(scaled, axis=1, keepdims=True)).astype(np.float32)


def best_matches(
    query: NDArray[np.float32],
    database: NDArray[np.float32],
    k: int,
    *,
    same: bool = False,
    threads: int = 1,
    done: Step = unreported,
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the database rows with the k largest inner products with each query, the largest first.

    Parameters
    ----------
    query, database : ndarray of float32, shapes (n_queries, d) and (n_database, d)
    k : int
        At least 1; the result has fewer columns if the database has fewer rows.
    same : bool, default=False
        Whether both are the same items; an item is then not a candidate for itself.
    threads : int, default=1
        The result does not depend on it.
    done : callable, optional
        Called with the number of queries just finished.

    Returns
    -------
    rows : ndarray of int64, shape (n_queries, k)
    products : ndarray of float32, shape (n_queries, k)

    Notes
    -----
    `protocol.truth.nearest` returns all items that tie with the k-th, so a thousand blank images would yield a
    million pairs. This search keeps only k of them. It needs 100 MB per thread.

    Examples
    --------
    >>> line = np.array([[3.0], [1.0], [2.0]], dtype=np.float32)
    >>> best_matches(line, line, 2, same=True)[0].tolist()
    [[2, 1], [0, 2], [0, 1]]
    """
    k, size = min(k, len(database) - same), max(1, _PRODUCTS // len(database))

    def search(start: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        values = query[start : start + size] @ database.T
        if same:
            np.fill_diagonal(values[:, start:], -np.inf)
        rows = np.argpartition(values, -k, axis=1)[:, -k:]
        products = np.take_along_axis(values, rows, axis=1)
        order = np.lexsort((rows, -products), axis=1)
        return np.take_along_axis(rows, order, axis=1), np.take_along_axis(products, order, axis=1)

    rows, products = zip(*in_blocks(search, range(0, len(query), size), threads, done), strict=True)
    return np.concatenate(rows), np.concatenate(products)


def in_blocks(work: Callable[[int], _T], starts: range, threads: int, done: Step) -> Iterator[_T]:
    """Yield ``work(start)`` for each block of queries, in order; `done` is called with the size of each block."""
    with workers(threads) as n_threads:
        for start, result in zip(starts, in_order(work, starts, n_threads), strict=True):
            yield result
            done(min(starts.step, starts.stop - start))


def contact_sheet(path: str | Path, proposals: Proposals, query: Any, database: Any = None) -> None:
    """Write proposed pairs of images as one HTML file, for judging them in a browser and saving the result as CSV.

    Parameters
    ----------
    path : str or Path
    proposals : Proposals
        Result of `find_duplicates` for images; vectors can't be shown.
    query : path or array_like
        The images of the queries that were passed to it.
    database : path or array_like
        The images of the database that were passed to it.

    Raises
    ------
    ProtocolError
        If the images can't be read.

    Notes
    -----
    The CSV file has the columns ``query,database,distance,judgement``, which `protocol.audit` accepts as known pairs.
    The distance is 1 minus the score.
    """
    template, cards = templates(Path(__file__).parent).get_template(PACKAGE_DATA), []
    left = _images(query, "query", _LONGEST)[0]
    right = left if database is None else _images(database, "database", _LONGEST)[0]
    rows = proposals.pairs[["query", "database"]].to_numpy().tolist()
    for record, (i, j) in zip(proposals.records(), rows, strict=True):
        label = str(record["rank"]) if record["choice"] == 1 else f"{record['rank']}.{record['choice']}"
        pictures = {
            "left": base64_png(left[i : i + 1][0], _LONGEST),
            "right": base64_png(right[j : j + 1][0], _LONGEST),
        }
        cards.append(record | pictures | {"distance": f"{1 - record['score']:.6f}", "label": label})
    page = template.render(about=proposals.about, cards=cards, judgements=JUDGEMENTS, n_proposals=len(proposals))
    storage.write_text(path, page)


# Proposals


def proposed(pairs: DataFrame, most: int, *, same: bool) -> DataFrame:
    """Return the pairs of the queries with the most similar partners, in order, with their ranks and choices.

    Parameters
    ----------
    pairs : DataFrame
        The ``query`` and the ``database`` item of each pair by row number, its ``score``, and details, in any order. A
        pair may occur more than once; its largest score counts.
    most : int
        The number of queries.
    same : bool
        Whether queries and database are the same items; the order of a pair is then ignored.

    Notes
    -----
    A query has up to `FURTHER` more partners whose scores are at most `GAP` below that of the first. If both sides are
    the same items, a pair is kept if one of its items is among these partners of the other. So every item with a
    partner is in a pair, and the pairs do not depend on the order of the items. The query is the item with the lower
    row number, provided that the other one is among its partners. Ties are ordered by row number.
    """
    pd = need("pandas", "report")
    if same:
        pairs = pd.concat([pairs, pairs.rename(columns={"query": "database", "database": "query"})], ignore_index=True)
    pairs = pairs.sort_values(["query", "score", "database"], ascending=[True, False, True], kind="stable")
    pairs = pairs.drop_duplicates(["query", "database"])
    of_query = pairs.groupby("query")
    pairs = pairs[(of_query.cumcount() <= FURTHER) & (pairs["score"] >= of_query["score"].transform("max") - GAP)]
    if same:
        in_order = pd.DataFrame(np.sort(pairs[["query", "database"]], axis=1), index=pairs.index)
        pairs = pairs[~in_order.duplicated()]  # of a pair in both orders, the lower query comes first
    of_query = pairs.groupby("query")
    rank = of_query["score"].max().rank(method="first", ascending=False).astype(int)
    pairs.insert(3, "rank", pairs["query"].map(rank))
    pairs.insert(4, "choice", of_query.cumcount() + 1)
    return pairs[pairs["rank"] <= most].sort_values(["rank", "choice"], ignore_index=True)
