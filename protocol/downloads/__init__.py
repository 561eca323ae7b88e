"""Downloads: files fetched whole and checked, from a mirror or their official sources, or not at all."""

from protocol.downloads._credentials import redacted
from protocol.downloads._fetch import File, Place, check_recorded, fetch, require_local
from protocol.downloads._transfer import Patience

__all__ = ["File", "Patience", "Place", "check_recorded", "fetch", "redacted", "require_local"]
