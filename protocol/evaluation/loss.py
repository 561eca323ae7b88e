"""The loss of codes compared with the vectors from which they were computed: inputs, codes, re-ranking and cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.counting import HammingCounts
from protocol.evaluation.cost import Cost, measured
from protocol.evaluation.hashing import HashedBy, HashingOptions, codes_of
from protocol.evaluation.inputs import code_pair
from protocol.evaluation.progress import Progress, stage
from protocol.evaluation.rescoring import Rescoring, RescoringOptions, by_codes, by_vectors
from protocol.evaluation.second_stage import CodePair
from protocol.evaluation.vectors import (
    NearestItems,
    VectorOptions,
    check_dimension,
    nearest_relevance,
    vector_pair,
)
from protocol.inputs.conversion import matrix_from, named
from protocol.truth import Distance, check_rows
from protocol.truth.relevance import NeighbourRelevance, Relevance


@dataclass(frozen=True)
class VectorInputs:
    """The checked vectors of an evaluation, and the options of everything that is computed from them.

    Parameters
    ----------
    names : tuple of str
        The names of the vectors of queries and database in error messages.
    query, database : ndarray, shape (n, d)
        Vectors, memory-mapped where the file allows it.
    train : ndarray or None
        Vectors on which hashers are fitted.
    options : VectorOptions
    hashing : HashingOptions or None
        How codes are computed; None if codes are given.
    rescoring : RescoringOptions
    second : HashingOptions, tuple or None
        How second codes are computed; or the second codes of queries and database, and their code length.
    measure_speed : bool
    """

    names: tuple[str, str]
    query: NDArray
    database: NDArray
    train: NDArray | None
    options: VectorOptions
    hashing: HashingOptions | None
    rescoring: RescoringOptions
    second: HashingOptions | CodePair | None
    measure_speed: bool


def vector_inputs(
    query: Any,
    database: Any,
    *,
    codes: Sequence[Any],
    n_bits: int | None,
    bit_order: str,
    binarize: str | None,
    seed: int,
    distance: Distance | None = None,
    neighbours: Sequence[int] | None = None,
    relevant_neighbours: int | None = None,
    hasher: str | None = None,
    hasher_options: Mapping[str, Any] | None = None,
    train_vectors: Any = None,
    rescore_codes: tuple[Any, Any] | None = None,
    rescore_hasher: str | None = None,
    rescore_bits: int | None = None,
    target: float | None = None,
    largest_factor: int | None = None,
    measure_speed: bool | None = None,
) -> VectorInputs | None:
    """Return the checked vectors and options; None without vectors.

    The parameters are those of `protocol.evaluation.evaluate`; `codes` are the codes of queries and database, or
    ``(None, None)``.

    Raises
    ------
    ProtocolError
        If options contradict each other, require vectors that are not given, or do not fit the vectors.
    """
    if query is None and database is None:
        _check_none_given(
            "query vectors and database vectors",
            distance=distance,
            neighbours=neighbours,
            relevant_neighbours=relevant_neighbours,
            hasher=hasher,
            hasher_options=hasher_options,
            train_vectors=train_vectors,
            rescore_codes=rescore_codes,
            rescore_hasher=rescore_hasher,
            rescore_bits=rescore_bits,
            target=target,
            largest_factor=largest_factor,
            measure_speed=measure_speed,
        )
        return None
    options = VectorOptions(distance or "cosine", neighbours, relevant_neighbours)
    rescoring = RescoringOptions(**_given(target=target, largest=largest_factor))
    made = all(side is None for side in codes)
    if made and binarize is not None:
        raise ProtocolError(f"binarize: expected query codes and database codes with it, got {binarize!r} alone.")
    if not made and (hasher is not None or hasher_options is not None):
        raise ProtocolError("hasher: expected vectors without codes, because it computes the codes, got both.")
    chosen = _given(hasher=hasher, options=hasher_options) | {"seed": seed}
    hashing = HashingOptions(n_bits=n_bits, **chosen) if made else None
    second: HashingOptions | None = None
    if rescore_codes is not None and rescore_hasher is not None:
        raise ProtocolError("rescore_hasher: expected no rescore_codes with it, got both.")
    if rescore_codes is None and (rescore_hasher is not None or rescore_bits is not None):
        same = rescore_hasher is None or rescore_hasher == hasher
        second = HashingOptions(n_bits=rescore_bits, **(chosen if same else {"hasher": rescore_hasher, "seed": seed}))
    if hashing is None and second is None and train_vectors is not None:
        raise ProtocolError("train_vectors: expected a hasher that is fitted on them, got codes.")
    of_query, of_database = vector_pair(query, database)
    train = None
    if train_vectors is not None:
        name = named(train_vectors, "training vectors")
        train = matrix_from(train_vectors, "training vectors")
        check_dimension(train, of_query.shape[1], name)
        check_rows(train, f"{name}:")
    for hashed in filter(None, (hashing, second)):
        hashed.fitting(of_query.shape[1])
    given = None
    if rescore_codes is not None:
        given = _second_codes(rescore_codes, rescore_bits, bit_order, binarize, len(of_query), len(of_database))
    return VectorInputs(
        (named(query, "query vectors"), named(database, "database vectors")),
        of_query,
        of_database,
        train,
        options,
        hashing,
        rescoring,
        given or second,
        bool(measure_speed),
    )


def made_codes(inputs: VectorInputs, hashing: HashingOptions, progress: Progress) -> tuple[CodePair, HashedBy]:
    """Return packed codes of the vectors, and how they were computed."""
    query, database, made = codes_of(
        inputs.query,
        inputs.database,
        inputs.train,
        hashing,
        progress=stage(progress, "encoding", len(inputs.query) + len(inputs.database)),
    )
    return CodePair(query, database, made.n_bits), made


def check_n_codes(codes: CodePair, n_queries: int, n_database: int) -> None:
    """Raise ProtocolError unless there is one code for each vector."""
    for of_role, n_rows, role in ((codes.query, n_queries, "query"), (codes.database, n_database, "database")):
        if len(of_role) != n_rows:
            raise ProtocolError(
                f"{role} codes: expected {n_rows:,} rows, one for each of the {role} vectors, got {len(of_role):,}."
            )


def nearest_of(
    inputs: VectorInputs, metrics: Sequence[str], *, threads: int, progress: Progress
) -> tuple[tuple[int, ...], int, dict[int, NeighbourRelevance]]:
    """Return the numbers K of nearest items, the one that all other metrics use, and the relevance for each number.

    `metrics` are names of metrics of the nearest items, such as ``neighbours@10``.
    """
    numbers = inputs.options.numbers(len(inputs.database), metrics)
    relevant = inputs.options.relevant or max(inputs.options.numbers(len(inputs.database), []))
    relevances = nearest_relevance(
        inputs.query,
        inputs.database,
        inputs.names,
        sorted({1, relevant, *numbers}),
        distance=inputs.options.distance,
        threads=threads,
        progress=stage(progress, "searching", len(inputs.query) * len(inputs.database)),
    )
    return numbers, relevant, relevances


def loss_of(
    inputs: VectorInputs,
    nearest: NearestItems,
    codes: CodePair,
    relevances: Mapping[int, Relevance],
    counts: Mapping[int, HammingCounts],
    *,
    progress: Progress,
) -> tuple[tuple[Rescoring, ...], Cost]:
    """Return the curves of re-ranking, and the cost of the codes.

    Parameters
    ----------
    inputs : VectorInputs
    nearest : NearestItems
    codes : CodePair
        The codes that are scored.
    relevances, counts : mapping
        The relevance and the counts for each number K of nearest items.
    progress : callable, optional
    """
    curves = [by_vectors(counts, nearest.numbers, inputs.rescoring)]
    second, made = _second_stage(inputs, progress)
    if second is not None:
        chosen = {number: relevances[number] for number in nearest.numbers}
        watched = stage(progress, "re-ranking", len(inputs.query))
        curves.append(by_codes(codes, second, chosen, inputs.rescoring, made=made, progress=watched))
    speed = None
    if inputs.measure_speed:
        speed = measured(
            *codes, inputs.query, inputs.database, neighbours=nearest.relevant, distance=inputs.options.distance
        )
    return tuple(curves), Cost(
        code_bytes=codes.database.shape[1],
        rescore_code_bytes=None if second is None else second.database.shape[1],
        vector_bytes=inputs.database.shape[1] * inputs.database.itemsize,
        speed=speed,
    )


def _second_stage(inputs: VectorInputs, progress: Progress) -> tuple[CodePair | None, HashedBy | None]:
    """Return the second codes, computed if they are not given, and how they were computed."""
    if isinstance(inputs.second, HashingOptions):
        return made_codes(inputs, inputs.second, progress)
    return inputs.second, None


def _second_codes(
    pair: tuple[Any, Any], n_bits: int | None, bit_order: str, binarize: str | None, n_queries: int, n_database: int
) -> CodePair:
    if len(pair) != 2:
        raise ProtocolError(f"rescore_codes: expected the codes of queries and of the database, got {len(pair)} parts.")
    try:
        second = CodePair(*code_pair(*pair, n_bits=n_bits, bit_order=bit_order, binarize=binarize))
        check_n_codes(second, n_queries, n_database)
    except ProtocolError as error:
        raise ProtocolError(f"rescore_codes: {error}") from error
    return second


def _check_none_given(needed: str, **options: Any) -> None:
    given = next(iter(_given(**options)), None)
    if given is not None:
        raise ProtocolError(f"{given}: expected {needed} with it, got none.")


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}
