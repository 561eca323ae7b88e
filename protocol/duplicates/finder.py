"""The public functions that find near-duplicates among images and among vectors, the most similar pairs first."""

import contextlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocol.checks import ProtocolError, counted, integer, number
from protocol.duplicates.candidates import best_matches
from protocol.duplicates.inputs import Items, opened_images, vectors_from, with_ids
from protocol.duplicates.proposals import DETAILS, Pairs, Proposals, ordered
from protocol.duplicates.small_images import SIZE, block_means, correlations, mirrored, small_images
from protocol.duplicates.vectors import is_small, n_steps, similar_vectors
from protocol.evaluation.progress import Progress, stage
from protocol.truth import check_rows

CANDIDATES = 10
"""Number of candidates that are verified for each query, and for its mirror image."""
MIRROR = 1.3
"""Factor on 1 - score for mirrored pairs, because mirroring doubles the opportunities for chance matches."""


def find_duplicates(
    query: Any,
    database: Any = None,
    *,
    query_ids: Any = None,
    database_ids: Any = None,
    most: int = 1000,
    least: float = 0.0,
    mirror: bool = True,
    threads: int = 1,
    progress: Progress = None,
) -> Proposals:
    """Return pairs of a query image and a database image that may be near-duplicates, the most similar first.

    Parameters
    ----------
    query : path or array_like
        The images of the queries: uint8 (n, height, width) or (n, height, width, 3) as an array or a file (``.npy``,
        ``F.npz:key``, ``F.h5:dataset``), a folder of image files, or ``content.h5`` of a dataset of the pipeline. Sizes
        may differ: the central square of every image is compared at 32 x 32 pixels.
    database : path or array_like, optional
        The images of the database, in any of these forms. If None, the queries are compared with each other.
    query_ids : path or array_like, shape (n,), optional
        The names of the queries: the ids, or row numbers in a dataset, as in the lists for `protocol.audit`, each once.
        If None, the names of files, or row numbers in `query`.
    database_ids : path or array_like, shape (n,), optional
        The names of the database items. If one side is an array and the other side has a list, both need one.
    most : int, default=1000
        Maximum number of queries to propose, each with its best match and up to four others that are about as
        similar.
    least : float, default=0
        Minimum score of a pair, from 0 to 1. By default, only `most` limits the proposals.
    mirror : bool, default=True
        Whether to search for mirrored copies, in addition to unchanged ones.
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
    Candidates are the database items whose block means have the largest cosine with those of the query. They are
    verified by the correlation of local contrast, maximised over small shifts and scales. The score is the mean of
    cosine and correlation; it is reduced for mirrored pairs unless it is 1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> database = rng.integers(0, 256, (50, 32, 32, 3), dtype=np.uint8)
    >>> query = np.concatenate([rng.integers(0, 256, (3, 32, 32, 3), dtype=np.uint8), database[7:8, :, ::-1]])
    >>> (first,) = find_duplicates(query, database, most=1).records()
    >>> first["query"], first["database"], first["mirrored"]
    ('3', '7', 1)
    """
    _check_options(most, least, threads, database, database_ids)
    _check_bool(mirror, "mirror", "True or False")
    same = database is None
    with contextlib.ExitStack() as stack:
        left = with_ids(stack.enter_context(opened_images(query, "query", image_size=SIZE)), query_ids, "query_ids")
        right = left
        if not same:
            right = stack.enter_context(opened_images(database, "database", image_size=SIZE))
            right = with_ids(right, database_ids, "database_ids")
        sizes = _sizes(left, right, (query_ids, database_ids), "image")
        n_channels = 3 if any(len(side.rows.shape) == 4 for side in (left, right)) else 1
        add = stage(progress, "reading images", len(left) + (0 if same else len(right)))
        q = small_images(left.rows, n_channels=n_channels, done=add)
        d = q if same else small_images(right.rows, n_channels=n_channels, done=add)
    pairs = _similar_images(q, d, same, mirror, threads, progress)
    pairs = pairs.where(pairs.score >= least).once(same=same)
    n_candidates, whose = min(CANDIDATES, len(d) - same), "query and of its mirror image" if mirror else "query"
    candidates = f"candidates: the {n_candidates} most similar items of each {whose}; other pairs are not checked"
    return Proposals(*ordered(pairs, most, same=same), left.ids, right.ids, (sizes, candidates), "images")


def find_duplicate_vectors(
    query: Any,
    database: Any = None,
    *,
    query_ids: Any = None,
    database_ids: Any = None,
    most: int = 1000,
    least: float = 0.9,
    exact: bool | None = None,
    threads: int = 1,
    progress: Progress = None,
) -> Proposals:
    """Return pairs of a query vector and a database vector with a large cosine, the most similar first.

    The score is the cosine. The other parameters, the result and the errors are those of `find_duplicates`.

    Parameters
    ----------
    query : path or array_like, shape (n, d)
        The vectors of the queries, as an array or a file.
    database : path or array_like, shape (n, d), optional
        The vectors of the database, of the same dimension. If None, the queries are compared with each other.
    exact : bool, optional
        Whether to compare all pairs. If false, candidates are found by random-hyperplane keys. If None, all pairs are
        compared if this takes at most 10^12 multiplications.
    """
    _check_options(most, least, threads, database, database_ids)
    if exact is not None:
        _check_bool(exact, "exact", "None, True or False")
    same = database is None
    left = with_ids(vectors_from(query, "query"), query_ids, "query_ids")
    right = left if same else with_ids(vectors_from(database, "database"), database_ids, "database_ids")
    sizes = _sizes(left, right, (query_ids, database_ids), "vector")
    X, Z = np.asarray(left.rows), np.asarray(right.rows)
    if X.shape[1] != Z.shape[1]:
        raise ProtocolError(
            f"{left.name}: vectors of {X.shape[1]:,} dimensions, but those of {right.name} have {Z.shape[1]:,}."
        )
    for side in (left,) if same else (left, right):
        check_rows(np.asarray(side.rows), side.name, unit=True)
    exact = is_small(X, Z) if exact is None else exact
    add = stage(progress, "comparing vectors", n_steps(len(X), exact=exact))
    pairs = similar_vectors(X, Z, least, same=same, exact=exact, threads=threads, done=add).once(same=same)
    candidates = "all pairs" if exact else "items with similar random-hyperplane keys; other pairs are not checked"
    about = (sizes, f"candidates: {candidates}", f"proposed: pairs with a cosine of at least {least:g}")
    return Proposals(*ordered(pairs, most, same=same), left.ids, right.ids, about, "vectors")


def _check_options(most: int, least: float, threads: int, database: Any, database_ids: Any) -> None:
    integer(most, "most")
    integer(threads, "threads")
    number(least, "least", maximum=1)
    if database is None and database_ids is not None:
        raise ProtocolError("database_ids needs database as well.")


def _check_bool(value: Any, name: str, allowed: str) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise ProtocolError(f"{name}: expected {allowed}, got {value!r}.")


def _sizes(left: Items, right: Items, ids: tuple[Any, Any], kind: str) -> str:
    """Return a sentence about the numbers of items.

    Raises
    ------
    ProtocolError
        If a single item is compared with itself, or a list names the items of one side but the other side has only row
        numbers.
    """
    if left is right:
        if len(left) < 2:
            raise ProtocolError(f"{left.name}: only one item, so there is nothing to compare.")
        return f"pairwise within {left.name} ({counted(len(left), kind)})"
    for items, argument, other, other_ids in (
        (left, "query_ids", "database_ids", ids[1]),
        (right, "database_ids", "query_ids", ids[0]),
    ):
        if other_ids is not None and items.ids is None:
            raise ProtocolError(f"{other} needs {argument} as well, because {items.name} has no ids.")
    return f"{left.name} ({counted(len(left), kind)}) compared with {right.name} ({len(right):,})"


def _similar_images(
    q: NDArray[np.uint8], d: NDArray[np.uint8], same: bool, mirror: bool, threads: int, progress: Progress
) -> Pairs:
    """Return the candidates for each query, with their scores."""
    n = len(q)
    add = stage(progress, "candidates", n * (1 + mirror))
    right = block_means(d)
    left = right if same else block_means(q)
    plain, cosine = best_matches(left, right, CANDIDATES, same=same, threads=threads, done=add)
    flipped, flipped_cosine = np.empty((n, 0), dtype=np.int64), np.empty((n, 0), dtype=np.float32)
    if mirror:
        left = block_means(mirrored(q))
        flipped, flipped_cosine = best_matches(left, right, CANDIDATES, same=same, threads=threads, done=add)
    add = stage(progress, "verification", n)
    correlation, flipped_correlation = correlations(q, d, plain, flipped, threads=threads, done=add)
    database = np.concatenate([plain, flipped], axis=1)
    cosines = np.concatenate([cosine, flipped_cosine], axis=1, dtype=np.float64).ravel()
    both = np.concatenate([correlation, flipped_correlation], axis=1, dtype=np.float64).ravel()
    queries, columns = (index.ravel() for index in np.indices(database.shape))
    is_mirrored = columns >= plain.shape[1]
    distance = np.maximum(1 - (cosines + both) / 2, 0)
    score = 1 - np.where(is_mirrored, MIRROR * distance, distance)
    return Pairs(queries, database.ravel(), score, dict(zip(DETAILS, (cosines, both, is_mirrored), strict=True)))
