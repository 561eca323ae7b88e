"""Class-label ground truth: items that share at least one class label with the query are relevant."""

from numpy.typing import NDArray

from protocol.checks import ProtocolError
from protocol.registry import GroundTruthRecord
from protocol.truth._items import Items


@GroundTruthRecord.declared
def class_label(query: Items, database: Items, train: Items, *, seed: int = 0) -> dict[str, NDArray]:
    """Items that share at least one class label with the query are relevant.

    Parameters
    ----------
    query : Items
        With labels: integers (n,), or a 0/1 matrix (n, n_classes) if items may have several.
    database : Items
        With labels of the same kind.
    train : Items
        Not used: nothing is fitted.
    seed : int, default=0
        Not used: nothing is random.

    Returns
    -------
    dict
        ``query_labels`` and ``database_labels``.

    Raises
    ------
    ProtocolError
        If the dataset has no labels.
    """
    if query.labels is None or database.labels is None:
        raise ProtocolError("ground truth 'class_label': the dataset has no labels. Use 'epsilon_ball'.")
    return {"query_labels": query.labels, "database_labels": database.labels}
