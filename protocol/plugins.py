"""The package of the user's own plug-ins: ``mean.py`` in a folder of the user is imported as ``protocol.plugins.mean``.

A file can therefore import its neighbours (``from .shared import NAME``), and digests of code follow such imports. The
path of this package is set by `protocol.plugin_folders`. It has no names of its own, since a file may have any name.
"""

__path__: list[str] = []
