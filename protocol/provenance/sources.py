"""Digests of source files and of all modules of this package that they import, directly or indirectly.

Snakemake does not notice an edit in an imported package. A rule that has the digest of its script and of its plug-ins
(`protocol.registry.code_digest`) as a parameter is rerun if, and only if, the code that it runs has changed.

Comments, formatting and most docstrings do not count. The docstrings of classes and public functions do, because the
summaries and options of plug-ins and the descriptions of claims are read from them.

Imports are found in the syntax tree. The standard library's modulefinder was considered, but it compiles and follows
every library, and for any import from a package it adds everything that the package's ``__init__`` imports.
"""

import ast
import functools
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from protocol import plugin_folders
from protocol.checks import ProtocolError
from protocol.provenance import storage

_ROOT = Path(__file__).parents[2]
_PACKAGE = Path(__file__).parents[1].name
# Modules that can't change a result: downloads are verified by checksums, and digests only decide which jobs are rerun.
_LEFT_OUT = ("protocol.datasets._fetch.", "protocol.provenance.sources.")
# The distributions on which numbers depend, by the name that is imported.
_LIBRARIES = {module: name for name, module in storage.LIBRARIES.items() if module not in ("protocol", "h5py")}
_Import = tuple[str, str | None]
"""A module and the name that is imported from it; None for the module itself."""


class _Source(NamedTuple):
    """A source file: the digest of its syntax tree, and its imports."""

    digest: str
    imports: list[_Import]
    origins: dict[str, _Import]
    """The import behind each global name that is imported."""
    data: dict[str, str]
    """The digests of the files that it reads or runs, which fit the patterns of its constant ``PACKAGE_DATA``."""


def digest(*starts: str | Path) -> str:
    """Return a digest of files and of all modules of this package that they import, directly or indirectly.

    Parameters
    ----------
    *starts : str or Path
        Modules by their dotted names, and scripts by their paths, which end in ``.py``. A script's folder is not part
        of the digest, so a moved checkout has the same digests.

    Returns
    -------
    str
        16 hexadecimal digits, independent of the order of `starts`, and the versions of those imported libraries on
        which numbers depend, such as ``"0a1b2c3d4e5f6789 with numpy 2.3.4, scipy 1.16.2"``. Files are read once per
        process.

    Raises
    ------
    ProtocolError
        If a module does not exist.

    Notes
    -----
    Imports inside functions count; those under ``if TYPE_CHECKING`` do not. ``from protocol.hashers import Hasher`` is
    followed to the module that defines ``Hasher``, and not to the other modules that ``hashers/__init__.py`` imports.
    Plug-ins are found by name at run time, so the caller must add them; those of
    the user are modules of `protocol.plugins`. If a module has a constant ``PACKAGE_DATA``,
    the files in its folder that fit this pattern are also covered: templates, tables, scripts.

    Examples
    --------
    >>> digest("protocol.provenance.seeds", "protocol.codes") == digest("protocol.codes", "protocol.provenance.seeds")
    True
    """
    return _digest(frozenset(map(str, starts)))


@functools.cache
def _digest(starts: frozenset[str]) -> str:
    digests, libraries = _contents(starts)
    content = "".join(f"{file}\0{digest}\0" for file, digest in sorted(digests.items()))
    known = storage.versions()
    versions = ", ".join(f"{library} {known.get(library, '(not installed)')}" for library in sorted(libraries))
    return hashlib.sha256(content.encode()).hexdigest()[:16] + (f" with {versions}" if versions else "")


def _contents(starts: frozenset[str]) -> tuple[dict[str, str], set[str]]:
    """Return the digest of every file that is reached from `starts`, by file name, and the libraries they import."""
    digests: dict[str, str] = {}
    libraries, waiting, seen = set[str](), set(starts), set(starts)
    while waiting:
        start = waiting.pop()
        path = Path(start) if start.endswith(".py") else _existing(start)
        source = _read(path, start)
        digests |= {path.name if start.endswith(".py") else _name(path): source.digest} | source.data
        for module, name in source.imports:
            package = module.split(".")[0]
            if (module, name) == (_PACKAGE, None):
                advice = f"write `from {module} import NAME` instead of `import {module}`"
                raise ProtocolError(f"{start}: {advice}, so that the files can be found.")
            if package in _LIBRARIES:
                libraries.add(_LIBRARIES[package])
            elif package == _PACKAGE and (reached := _defining(module, name)) not in seen:
                seen.add(reached)
                if not f"{reached}.".startswith(_LEFT_OUT):
                    waiting.add(reached)
    return digests, libraries


def _defining(module: str, name: str | None) -> str:
    """Return the module of this package that defines a name, which other packages may import from it."""
    path = _existing(module)
    if name is None or path.name != "__init__.py":
        return module
    origin, submodule = _read(path, module).origins.get(name), f"{module}.{name}"
    if origin is not None and origin != (module, name):
        return _defining(*origin) if origin[0].split(".")[0] == _PACKAGE else module
    return submodule if plugin_folders.path_of(submodule) or _path(submodule) else module


def _name(path: Path) -> str:
    """Return the name of a file in a digest, which is the same after the project or a folder of the user is moved."""
    return path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else f"plugins/{path.name}"


def _existing(module: str) -> Path:
    path = plugin_folders.path_of(module) or _path(module)
    if path is None:
        raise ProtocolError(f"code digest: the package {_PACKAGE!r} has no module {module!r}.")
    return path


@functools.cache
def _path(module: str) -> Path | None:
    """Return the file of a module of this package; None if there is none."""
    base = _ROOT.joinpath(*module.split("."))
    return next((path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file()), None)


@functools.cache
def _read(path: Path, module: str) -> _Source:
    tree = ast.parse(path.read_bytes(), str(path))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    typed = {
        one
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for one in ast.walk(statement)
    }
    imports = [imported for node in ast.walk(tree) if node not in typed for _, imported in _imported(node, package)]
    origins = dict(bound for statement in tree.body for bound in _imported(statement, package))
    assigned = [one for one in tree.body if isinstance(one, ast.Assign)]
    patterns = [ast.literal_eval(one.value) for one in assigned if ast.unparse(one.targets[0]) == "PACKAGE_DATA"]
    files = [file for pattern in patterns for file in path.parent.glob(pattern)]
    data = {_name(one): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}
    return _Source(_digest_of_tree(tree), imports, origins, data)


def _digest_of_tree(tree: ast.Module) -> str:
    """Return a digest of a module without comments and formatting, and without docstrings that nothing reads."""
    read = {node for node in tree.body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef) and node not in read and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _imported(statement: ast.AST, package: str) -> Iterator[tuple[str, _Import]]:
    """Yield each local name that an import statement binds, with its import."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield alias.asname or alias.name.split(".")[0], (alias.name, None)
    elif isinstance(statement, ast.ImportFrom):
        parents = package.split(".")[: len(package.split(".")) - statement.level + 1] if statement.level else []
        module = ".".join([*parents, *([statement.module] if statement.module else [])])
        for alias in statement.names:
            yield alias.asname or alias.name, (module, None if alias.name == "*" else alias.name)
