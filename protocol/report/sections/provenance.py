"""Provenance: the configuration, the versions, and the record of each file of run 0."""

from protocol.report.figure import Section
from protocol.report.results import Results


def section(results: Results) -> Section:
    """Return the provenance records of the files of run 0 and the complete configuration."""
    text = (
        "Every file has a record of the code, the inputs and the seed that it was made with. These are the records of "
        "run 0."
    )
    files = [
        {"path": path, "digest": provenance["digest"][:16]}
        | {key: provenance[key] for key in ("maker", "seed", "inputs", "parameters")}
        for path, provenance in results.records.items()
    ]
    return Section(
        "provenance",
        "Provenance and configuration",
        [text, *_mixed(results)],
        template="provenance.html.j2",
        context={"files": files, "config": results.config, "versions": results.provenance["versions"]},
        folded=True,
    )


def _mixed(results: Results) -> list[str]:
    """Return a warning for each library that occurs with several versions in the provenance records."""
    return [
        f"Warning: the files of this experiment were made with different versions of {library}: "
        f"{', '.join(f'{version} ({n} files)' for version, n in sorted(versions.items()))}. Delete the experiment's "
        "folder and run again to have all results from one environment."
        for library, versions in sorted(results.libraries.items())
        if len(versions) > 1
    ]
