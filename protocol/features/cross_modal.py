"""Cross-modal retrieval: queries are described by one modality of an item, the database by the other."""

from protocol.features._feature import Feature
from protocol.features.vectors import Vectors
from protocol.registry import FeatureRecord
from protocol.registry.records import tables

_TABLES = tables("features")


class CrossModal(Vectors):
    """Two of the dataset's own vectors per item, one for queries and one for the database, chosen by the subclass.

    Parameters
    ----------
    name : str
        Name of the queries' vectors in the dataset.
    n_components : int or None, default None
        Number of principal components, fitted on the training rows, that replace them; None for the unchanged vectors.
    database_name : str
        Name of the database's vectors in the dataset.
    database_n_components : int or None, default None
        Number of principal components that replace the database's vectors.
    """

    database_name: str = ""
    database_n_components: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.modalities  # noqa: B018 - checks the options for the database

    @property
    def modalities(self) -> dict[str, Feature]:
        """As for `Feature`: one for queries and one for the database."""
        return {"": self, "database/": Vectors(name=self.database_name, n_components=self.database_n_components)}


@FeatureRecord("image_to_text", **_TABLES["image_to_text"])
class ImageToText(CrossModal):
    """Image to text: queries are image vectors, and the database consists of text vectors, both from the dataset.

    Parameters are as for `CrossModal`.

    Examples
    --------
    >>> [feature.reads for feature in ImageToText().modalities.values()]
    ['vectors/image', 'vectors/text']
    """

    name: str = "image"
    database_name: str = "text"


@FeatureRecord("text_to_image", **_TABLES["text_to_image"])
class TextToImage(CrossModal):
    """Text to image: queries are text vectors, and the database consists of image vectors, both from the dataset.

    Parameters are as for `CrossModal`.

    Examples
    --------
    >>> [feature.reads for feature in TextToImage().modalities.values()]
    ['vectors/text', 'vectors/image']
    """

    name: str = "text"
    database_name: str = "image"
