"""The code behind each job: its digest, and stamps, which reveal results of other code without Snakemake's records.

Snakemake compares a job's parameters, and so the digest of its code, with those in its folder ``.snakemake``. If this
folder is missing, because it was deleted or only the results were copied, it would accept results of other code. The
stamps of a script and its plug-ins stand among the results and are inputs of its jobs: as soon as their code changes,
they are newer than the results. Without Snakemake's records, so they are if any option or file of the user changes.
"""

import base64
import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from protocol import registry
from protocol.checks import ProtocolError
from protocol.configuration.plan import Plan
from protocol.provenance import storage

_OF_DATA = ("dataset", "feature")
_RECORDS = Path(".snakemake", "metadata")
Plugins = Mapping[str, str | tuple[str, ...] | Callable[[Any], str | tuple[str, ...]]]
"""A name or several for each kind of plug-in, or a function that returns them from the wildcards of a job."""


class Code:
    """The scripts of an experiment's rules, each with the plug-ins that its jobs run.

    Parameters
    ----------
    plan : Plan
    path : callable
        Returns the path of a script from its name.
    starts : callable
        Returns whether the plan is made in order to start jobs. Otherwise, stamps are only brought up to date where
        there are results.
    calls_confirm : bool
        Whether `confirm` is called when jobs start. Otherwise, a plan that is made in order to start jobs confirms.
    """

    def __init__(
        self, plan: Plan, path: Callable[[str], str], starts: Callable[[], bool], *, calls_confirm: bool = True
    ) -> None:
        self._plan, self._path, self._starts, self._calls_confirm = plan, path, starts, calls_confirm
        self._plugins: dict[str, Plugins] = {}
        self._stamps = Stamps()
        self._updated = False
        self._digest = functools.cache(lambda script, plugins: registry.code_digest(path(script), **dict(plugins)))

    def declare(self, script: str, plugins: Plugins) -> None:
        """Declare the plug-ins of a script's jobs."""
        self._plugins[script] = plugins

    def digest(self, script: str, wildcards: Any) -> str:
        """Return a digest of a script, of the job's plug-ins, and of all code that they import."""
        return self._digest(script, tuple(self._names(script, wildcards)))

    def stamps(self, script: str, wildcards: Any) -> list[Path]:
        """Return the stamps of a script and of the job's plug-ins. A job without results may have none."""
        if not self._updated:  # all at once, because Snakemake remembers which files it has seen in a folder
            self._updated, starts = True, self._starts()
            self._update(everywhere=starts)
            if starts and not self._calls_confirm:
                self._stamps.confirm()
        return self._existing(script, wildcards)

    def check(self, script: str, wildcards: Any) -> None:
        """Raise ProtocolError if the code of a job is another one than when jobs were last started."""
        check_unchanged(self._existing(script, wildcards), Path(self._path(script)).parent)

    def _existing(self, script: str, wildcards: Any) -> list[Path]:
        of_plugins = [self._stamp(kind, name) for kind, names in self._names(script, wildcards) for name in names]
        return [path for path in [self._stamp("script", script), *dict.fromkeys(of_plugins)] if path.exists()]

    def _update(self, *, everywhere: bool) -> None:
        """Bring all stamps up to date, or only those next to results; raise ProtocolError if one can't be written."""
        plan, recorded = self._plan, recorded_folders()
        # Options of datasets and features are in the names of their folders.
        of_data = _digest_of_values(plan.user_states)
        of_experiment = _digest_of_values([plan.user_states, plan.reported_config, plan.config["paper"]])
        for path, digest in self._digests():
            if everywhere or path.parents[1].exists():
                options = of_data if path.parents[2].name == "datasets" else of_experiment
                self._stamps.update(path, digest, options, recorded=f"{path.parents[1]}" in recorded)

    def _digests(self) -> Iterator[tuple[Path, str]]:
        for script in self._plugins:
            yield self._stamp("script", script), self._digest(script, ())
        plugins = self._plan.plugins | {"split": tuple(registry.names("split"))}  # one split may draw for another
        declared = [plugins, *self._plugins.values()]
        pairs = {(kind, names) for one in declared for kind, names in one.items() if not callable(names)}
        for kind, names in pairs:
            for name in (names,) if isinstance(names, str) else names:
                yield self._stamp(kind, name), registry.code_digest(**{kind: name})

    def confirm(self) -> None:
        """Record that jobs with the present code are started."""
        self._update(everywhere=True)
        self._stamps.confirm()

    def _names(self, script: str, wildcards: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
        for kind, declared in self._plugins[script].items():
            names = declared(wildcards) if callable(declared) else declared
            yield kind, (names,) if isinstance(names, str) else tuple(names)

    def _stamp(self, kind: str, name: str) -> Path:
        of_data = kind in _OF_DATA or (kind == "script" and name.startswith(_OF_DATA))
        experiment = self._plan.experiment
        folder = f"datasets/{experiment.data}" if of_data else experiment.name
        known = name if kind == "script" else registry.REGISTRIES[kind].entry(name).name
        return Path("results", folder, "code", f"{kind}-{known}")


def recorded_folders() -> set[str]:
    """Return the folders of experiments and datasets of whose results Snakemake has records.

    A record is named after its result, in base64; the name of a long one is divided among folders that begin with @.
    """
    folders = set()
    for name in os.listdir(_RECORDS) if _RECORDS.is_dir() else ():
        name = name.removeprefix("@")
        path = base64.urlsafe_b64decode(name[: len(name) // 4 * 4]).split(b"/")
        folders.add(os.fsdecode(b"/".join(path[: 3 if path[1:2] == [b"datasets"] else 2])))
    return folders


class Stamps:
    """The stamps of one run of Snakemake.

    A stamp contains the digests of code and options for which jobs were last started, and since when it is newer than
    older results. It is written when jobs start, not when they are planned: a dry run with an edited plug-in, which is
    then restored, leaves results up to date.
    """

    def __init__(self) -> None:
        self._changed: dict[Path, tuple[str, str]] = {}

    def update(self, path: Path, code: str, options: str, *, recorded: bool) -> None:
        """Make a stamp newer than all existing results if it is of other code, and as old as it was otherwise.

        Other options count if they are not `recorded` by Snakemake, which then compares those of each job.

        Raises
        ------
        ProtocolError
            If the stamp can't be written.
        """
        if path in self._changed:
            return
        started, since = _read(path) if path.exists() else (("", ""), 0)
        if code != started[0] or (options != started[1] and not recorded):
            _write(path, started, since)
        elif path.stat().st_mtime_ns != since:
            _write(path, started, since, time=since)
        if (code, options) != started:
            self._changed[path] = (code, options)

    def confirm(self) -> None:
        """Record the digests of all changed stamps: jobs start now."""
        for path, digests in self._changed.items():
            since = path.stat().st_mtime_ns
            _write(path, digests, since, time=since)
        self._changed.clear()


def check_unchanged(paths: Iterable[Path], scripts: Path) -> None:
    """Raise ProtocolError if the code of a stamp is another one than when jobs were last started.

    `scripts` is the folder of the scripts. Versions of libraries don't count: with conda, Snakemake has others.
    """
    for path in paths:
        kind, _, name = path.name.partition("-")
        starts, plugins = ([scripts / name], {}) if kind == "script" else ([], {kind: name})
        (started, _), _ = _read(path)
        if started.partition(" ")[0] != registry.code_digest(*starts, **plugins).partition(" ")[0]:
            raise ProtocolError(f"{kind} {name}: its code was edited after this run had begun. Run again.")


def _digest_of_values(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _read(path: Path) -> tuple[tuple[str, str], int]:
    """Return the digests and the time in a stamp. A damaged one is of no code, so that its jobs are repeated."""
    match path.read_text(encoding="utf-8", errors="replace").splitlines():
        case [code, options, since] if since.isdecimal():
            return (code, options), int(since)
    return ("", ""), 0


def _write(path: Path, digests: tuple[str, str], since: int, *, time: int | None = None) -> None:
    """Write a stamp with a modification time, by default now. Another user's stamp can be replaced, but not touched."""
    with storage.replacing(path) as temporary:
        temporary.write_text("\n".join([*digests, f"{since}\n"]), encoding="utf-8")
        if time is not None:
            os.utime(temporary, ns=(time, time))
