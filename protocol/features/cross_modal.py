"""Cross-modal retrieval: queries are described by one of an item's modalities, the database by another."""

from protocol.features._feature import Feature
from protocol.features._own_vectors import OwnVectors
from protocol.registry import FeatureRecord

_SOURCE = "Moran 2016, thesis section 3.2.2; Rasiwasia et al. 2010, A New Approach to Cross-Modal Multimedia Retrieval"
_DEVIATIONS = (
    "principal components, which the thesis takes of all items, are learned from the training rows; values are rounded "
    "to float32"
)


class CrossModal(OwnVectors):
    """Two of the dataset's own vectors per item, one of queries and one of the database; a subclass says which.

    Parameters
    ----------
    name : str
        What the dataset calls the queries' vectors.
    n_components : int or None, default None
        How many principal components, of the training rows, stand for them. None: the vectors as they are.
    database_name : str
        What the dataset calls the database's vectors.
    database_n_components : int or None, default None
        How many principal components stand for these.
    """

    def __init__(
        self, *, name: str | None, n_components: int | None, database_name: str, database_n_components: int | None
    ) -> None:
        super().__init__(name=name, n_components=n_components)
        self.database_name = database_name
        self.database_n_components = database_n_components
        self.modalities  # noqa: B018 - refuses odd options of the database

    @property
    def modalities(self) -> dict[str, Feature]:
        """As of `Feature`: of queries, and of the database."""
        return {"": self, "database/": OwnVectors(name=self.database_name, n_components=self.database_n_components)}


@FeatureRecord("image_to_text", printed="Image to text", source=_SOURCE, deviations=_DEVIATIONS)
class ImageToText(CrossModal):
    """Image to text: queries are vectors of images, the database is vectors of texts, both the dataset's own.

    Parameters are those of `CrossModal`.

    Examples
    --------
    >>> [feature.reads for feature in ImageToText().modalities.values()]
    ['vectors/image', 'vectors/text']
    """

    def __init__(
        self,
        *,
        name: str = "image",
        n_components: int | None = None,
        database_name: str = "text",
        database_n_components: int | None = None,
    ) -> None:
        super().__init__(
            name=name,
            n_components=n_components,
            database_name=database_name,
            database_n_components=database_n_components,
        )


@FeatureRecord("text_to_image", printed="Text to image", source=_SOURCE, deviations=_DEVIATIONS)
class TextToImage(CrossModal):
    """Text to image: queries are vectors of texts, the database is vectors of images, both the dataset's own.

    Parameters are those of `CrossModal`.

    Examples
    --------
    >>> [feature.reads for feature in TextToImage().modalities.values()]
    ['vectors/text', 'vectors/image']
    """

    def __init__(
        self,
        *,
        name: str = "text",
        n_components: int | None = None,
        database_name: str = "image",
        database_n_components: int | None = None,
    ) -> None:
        super().__init__(
            name=name,
            n_components=n_components,
            database_name=database_name,
            database_n_components=database_n_components,
        )
