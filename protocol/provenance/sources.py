"""Digests of source files and of all modules of this package that they import, directly or indirectly.

Snakemake does not notice an edit in an imported package. A rule that has the digest of its script and of its plug-ins
(`code_digest`) as a parameter is rerun if, and only if, the code that it runs has changed.

Comments, formatting and most docstrings do not count. The docstrings of classes and public functions do, because the
summaries and options of plug-ins and the descriptions of claims are read from them. The modules that every stage
imports are not followed either; the constant `FORMAT` takes their place.

Imports are found in the syntax tree. The standard library's modulefinder was considered, but it compiles and follows
every library, and for any import from a package it adds everything that the package's ``__init__`` imports.
"""

import ast
import functools
import gc
import hashlib
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from protocol import registry
from protocol.checks import ProtocolError
from protocol.provenance import storage
from protocol.registry import folders

FORMAT = 1
"""The version of what the modules in `_FOUNDATION` contribute to results. It is part of every digest.

Raise it if an edit of these modules changes the results of a stage; every job then runs again. A test of golden bytes
(``tests/workflow/test_golden_bytes.py``) fails if the results of a stage change.
"""
_FOUNDATION = ("protocol.checks.", "protocol.parallel.", "protocol.provenance.", "protocol.registry.")
# Downloads are verified by checksums, so the module that fetches them can't change a result.
_LEFT_OUT = (*_FOUNDATION, "protocol.datasets._fetch.")
_ROOT = Path(__file__).parents[2]
_PACKAGE = Path(__file__).parents[1].name
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


def code_digest(*starts: str | Path, **plugins: str | Iterable[str]) -> str:
    """Return a digest of scripts, modules and plug-ins, and of all code of this package that they import.

    Parameters
    ----------
    *starts : str or Path
        Modules by their dotted names, and scripts by their paths, which end in ``.py``. A script's folder is not part
        of the digest, so a moved checkout has the same digests.
    **plugins
        For each kind, one name or several; the names of metrics may have numbers or placeholders.

    Returns
    -------
    str
        16 hexadecimal digits, independent of the order of `starts`, and the versions of those imported libraries on
        which numbers depend, such as ``"0a1b2c3d4e5f6789 with numpy 2.3.4, scipy 1.16.2"``. Files are read once per
        process.

    Raises
    ------
    ProtocolError
        If a module, a kind or a name is unknown. A misspelt name therefore fails before any job starts.

    Notes
    -----
    Imports inside functions count; those under ``if TYPE_CHECKING`` do not. ``from protocol.hashers import Hasher`` is
    followed to the module that defines ``Hasher``, and not to the other modules that ``hashers/__init__.py`` imports.
    Plug-ins are found by name at run time, so the caller must add them; those of the user are modules of
    ``protocol.plugins``. If a module has a constant ``PACKAGE_DATA``, the files in its folder that fit this pattern are
    also covered: templates, tables, scripts. Of the tables of records in ``records.toml``, those of the plug-ins count.

    Examples
    --------
    >>> code_digest("protocol.codes", hasher="lsh", metric=["mAP", "P@5"]) != code_digest("protocol.codes", hasher="sh")
    True
    """
    names = {kind: [names] if isinstance(names, str) else names for kind, names in plugins.items()}
    records = [registry.entry(kind, name) for kind, of_kind in names.items() for name in of_kind]
    tables = frozenset(repr(record.table) for record in records if record.table)
    return _digest(frozenset(map(str, (*starts, *(record.module for record in records)))), tables)


@functools.cache
def _digest(starts: frozenset[str], tables: frozenset[str]) -> str:
    collects = gc.isenabled()
    gc.disable()  # syntax trees have many objects, and each collection would look at all those of Snakemake as well
    try:
        digests, libraries = _contents(starts)
    finally:
        if collects:
            gc.enable()
    content = f"{FORMAT}\0" + "".join(f"{file}\0{digest}\0" for file, digest in sorted(digests.items()))
    content += "".join(sorted(tables))
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
    return submodule if _path(submodule) else module


def _name(path: Path) -> str:
    """Return the name of a file in a digest, which is the same after the project or a folder of the user is moved."""
    return path.relative_to(_ROOT).as_posix() if path.is_relative_to(_ROOT) else f"plugins/{path.name}"


def _existing(module: str) -> Path:
    if (path := _path(module)) is None:
        raise ProtocolError(f"code digest: the package {_PACKAGE!r} has no module {module!r}.")
    return path


def _path(module: str) -> Path | None:
    """Return the file of a module of this package or in a folder of the user; None if there is none."""
    base = _ROOT.joinpath(*module.split("."))
    files = (path for path in (base / "__init__.py", base.with_suffix(".py")) if path.is_file())
    return folders.path_of(module) or next(files, None)


@functools.cache
def _read(path: Path, module: str) -> _Source:
    tree = ast.parse(path.read_bytes(), str(path))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    statements = list(_statements(tree))
    imports = [imported for statement in statements for _, imported in _imported(statement, package)]
    origins = dict(bound for statement in tree.body for bound in _imported(statement, package))
    assigned = {ast.unparse(one.targets[0]): one.value for one in tree.body if isinstance(one, ast.Assign)}
    pattern = ast.literal_eval(assigned["PACKAGE_DATA"]) if "PACKAGE_DATA" in assigned else ""
    files = path.parent.glob(pattern) if pattern else ()
    data = {_name(file): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    return _Source(_digest_of_tree(tree, statements), imports, origins, data)


def _digest_of_tree(tree: ast.Module, statements: Iterable[ast.AST]) -> str:
    """Return a digest of a module without comments and formatting, and without docstrings that nothing reads."""
    for node in {tree, *statements} - {one for one in tree.body if not getattr(one, "name", "_").startswith("_")}:
        if isinstance(node, ast.Module | ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest()


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements below a node, except those for type checkers; expressions contain none."""
    is_typed = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    for part in ("body", "orelse", "handlers", "finalbody", "cases")[is_typed:]:
        for statement in getattr(node, part, ()):
            yield statement
            yield from _statements(statement)


def _imported(statement: ast.AST, package: str) -> Iterator[tuple[str, _Import]]:
    """Yield each local name that an import statement binds, with its import."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield alias.asname or alias.name.split(".")[0], (alias.name, None)
    elif isinstance(statement, ast.ImportFrom):
        module = importlib.util.resolve_name("." * statement.level + (statement.module or ""), package)
        for alias in statement.names:
            yield alias.asname or alias.name, (module, None if alias.name == "*" else alias.name)
