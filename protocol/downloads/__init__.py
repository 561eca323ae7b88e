"""Downloads: files fetched whole and checked, from a mirror or their official sources, or not at all."""

from protocol.downloads._fetch import Place, fetch, path_of, require_local
from protocol.downloads._file import File
from protocol.downloads._transfer import Patience

__all__ = ["File", "Patience", "Place", "fetch", "path_of", "require_local"]
