"""A storage plugin of Snakemake whose object store is a folder; queries are ``folder://PATH``."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from snakemake_interface_storage_plugins.io import IOCacheStorageInterface
from snakemake_interface_storage_plugins.settings import StorageProviderSettingsBase
from snakemake_interface_storage_plugins.storage_object import (
    StorageObjectGlob,
    StorageObjectRead,
    StorageObjectTouch,
    StorageObjectWrite,
)
from snakemake_interface_storage_plugins.storage_provider import StorageProviderBase, StorageQueryValidationResult


@dataclass
class StorageProviderSettings(StorageProviderSettingsBase):
    """There are no settings."""


class StorageProvider(StorageProviderBase):
    """The store."""

    @classmethod
    def example_queries(cls):
        return []

    def rate_limiter_key(self, query, operation):
        return None

    def default_max_requests_per_second(self):
        return 1000.0

    def use_rate_limiter(self):
        return False

    @classmethod
    def is_valid_query(cls, query):
        return StorageQueryValidationResult(query=query, valid=True)


class StorageObject(StorageObjectRead, StorageObjectWrite, StorageObjectGlob, StorageObjectTouch):
    """A file of the store."""

    @property
    def _path(self):
        return Path(self.query.removeprefix("folder://"))

    def local_suffix(self):
        return str(self._path).lstrip("/")

    async def inventory(self, cache: IOCacheStorageInterface):
        pass

    def get_inventory_parent(self):
        return None

    def cleanup(self):
        pass

    def exists(self):
        return self._path.exists()

    def mtime(self):
        return self._path.stat().st_mtime

    def size(self):
        return self._path.stat().st_size

    def retrieve_object(self):
        shutil.copy2(self._path, self.local_path())

    def store_object(self):
        self._path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.local_path(), self._path)

    def remove(self):
        self._path.unlink()

    def touch(self):
        os.utime(self._path)

    def list_candidate_matches(self):
        return map(str, self._path.parent.rglob("*"))
