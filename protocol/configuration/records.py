"""Existing results are accepted only with a record of how they were made.

Snakemake repeats a job whose parameters or code differ from its record of them in ``.snakemake``. Where it has no
record, because that folder was deleted or only the results were copied, it would accept any file.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from protocol import datasets
from protocol.provenance import storage
from protocol.provenance.checksums import SUFFIX, Origin, holders, origin, read_origin

_N_LISTED = 10
_STATES = Path(".snakemake") / "protocol" / "states.json"


def refusal(workflow: Any, experiment: str) -> list[str]:
    """Return why existing results can't be used, and what to do; empty if they can.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
        After it has made its plan.
    experiment : str

    Returns
    -------
    list of str
        A line for each result that Snakemake would accept without a record of its own, or else for each result that a
        job would read although it was made with other seeds, options or code than those of the experiment, for example
        one that was accepted with ``--touch``. Only the first files are listed. The last line is advice.
    """
    problems = dict.fromkeys(_unrecorded(workflow, experiment), "Snakemake has no record of how it was made")
    advice = "Copy the folder .snakemake of the run that made these results, or make everything again: --forceall. "
    advice += "To accept files as they are: snakemake --touch --force FILE ..., or --touch --forceall for all."
    if not problems:
        problems = _differing(workflow, experiment)
        advice = "Make everything again, --forceall, or use the config file and the code that made these results."
    named = {file.storage_object.query if file.is_storage else file: text for file, text in problems.items()}
    lines = [f"{file}: {text}." for file, text in named.items()]
    more = [f"... and {len(lines) - _N_LISTED:,} more files."] if len(lines) > _N_LISTED else []
    return [*lines[:_N_LISTED], *more, advice] if lines else []


def _unrecorded(workflow: Any, experiment: str) -> list[Any]:
    """Return the results that Snakemake would accept without a record of its own, but not their checksum files."""
    folders = (f"results/{experiment}/", "results/datasets/", "results/downloads/")
    return [
        file
        for job in workflow.dag.jobs
        if not workflow.dag.needrun(job) and workflow.dag.reason(job).no_metadata
        for file in job.output
        if any(folder in file for folder in folders) and not file.endswith(SUFFIX)
        if workflow.persistence.metadata(file) is None and workflow.async_run(file.exists())
    ]


def _differing(workflow: Any, experiment: str) -> dict[Any, str]:
    """Return how the origin of each existing result that a job will read differs from the expected one."""
    dag, problems = workflow.dag, dict[Any, str]()

    @functools.cache
    def expected(job: Any) -> Origin:
        made_with = (expected(maker) if maker else read_origin(holder) for _, holder, maker in read(job))
        return origin(dict(job.params.items()), made_with)

    def read(job: Any) -> list[tuple[Any, Any, Any]]:
        """Return the results that a job reads, the file that contains the origin of each, and the job that makes it."""
        makers = {file: maker for maker, files in dag.dependencies[job].items() for file in files}
        return [(file, holder, makers.get(file)) for file, holder in holders(job.input, experiment).items()]

    for file, holder, maker in (result for job in dag.needrun_jobs() for result in read(job)):
        is_remote = holder.is_storage
        if maker is None or dag.needrun(maker) or (is_remote and workflow.dryrun):  # a dry run downloads nothing
            continue
        if is_remote:
            workflow.async_run(holder.retrieve_from_storage())
        if problem := _difference(read_origin(holder), expected(maker)):
            problems[file] = problem
    return problems


def _difference(recorded: Origin | None, expected: Origin) -> str:
    """Return how the origin of a result differs from the expected one; empty if it does not."""
    if recorded is None:
        return "does not contain what it was made with"
    kinds = [kind for kind in expected if recorded[kind] != expected[kind]]
    return f"made with other {' and '.join(kinds)} than those of the experiment" if kinds else ""


def files_of_dataset(config: Mapping[str, Any]) -> list[Path]:
    """Return the user's files from which the dataset is loaded."""
    return datasets.user_paths(config["dataset"], config["dataset_options"])[0]


def states_of_dataset(config: Mapping[str, Any]) -> list[str]:
    """Return the states of the user's files and folders from which the dataset is loaded.

    The state of a folder comes from `protocol.datasets.folder_state`: its files are not opened.
    """
    files, folders = datasets.user_paths(config["dataset"], config["dataset_options"])
    return [*states(files), *map(datasets.folder_state, folders)]


def states(paths: Iterable[str | Path]) -> list[str]:
    """Return the SHA-256 of each of the user's files, on which their jobs depend.

    A file is hashed again only if its inode, size or times changed (`protocol.datasets.file_state`), so that copying,
    moving or touching it reruns nothing. The folder ``.snakemake`` keeps the digests.
    """
    known = _known_states()
    now = {str(path): datasets.file_state(path) for path in map(Path, paths)}
    changed = {path: state for path, state in now.items() if path not in known or known[path][0] != state}
    if changed:
        known |= {path: [state, storage.file_sha256(path)] for path, state in changed.items()}
        storage.write_text(_STATES, json.dumps(known))
    return [known[path][1] for path in now]


@functools.cache
def _known_states() -> dict[str, Any]:
    """Return the last state and the digest of each file, by path; empty if the record is missing or damaged."""
    try:
        return dict(json.loads(_STATES.read_text()))
    except (OSError, ValueError):
        return {}
