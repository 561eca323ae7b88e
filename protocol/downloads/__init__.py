"""Download files completely, from a mirror or their official sources, and verify their checksums."""

from protocol.downloads._credentials import redacted
from protocol.downloads._fetch import File, Place, check_recorded, fetch, require_local
from protocol.downloads._transfer import RetryPolicy

__all__ = ["File", "Place", "RetryPolicy", "check_recorded", "fetch", "redacted", "require_local"]
