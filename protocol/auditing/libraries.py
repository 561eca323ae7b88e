"""Find files of one experiment that were created with different versions of a library."""

from collections.abc import Iterable
from pathlib import Path

from protocol.auditing.all_checks import Findings
from protocol.auditing.findings import found
from protocol.provenance.storage import read_provenance

_BY_CODE_DIGEST = "hashing-protocol"  # files are recreated when their code changes, so this version may differ


def audit_libraries(files: Iterable[str | Path]) -> Findings:
    """Return a warning for each library, including Python, of which several versions were used to create the files.

    Parameters
    ----------
    files : iterable of path
        HDF5 files of an experiment. A library that a file does not record, for example because it was not installed, is
        not compared.

    Returns
    -------
    Findings
        By the first file whose version differs from that of most files; ``count`` is the number of such files, and
        ``examples`` lists each version with its first file.

    Raises
    ------
    ProtocolError
        If a file is missing or was altered.
    """
    made: dict[str, dict[str, list[str]]] = {}
    for file in map(str, files):
        for library, version in read_provenance(file)["versions"].items():
            if library != _BY_CODE_DIGEST:
                made.setdefault(library, {}).setdefault(version, []).append(file)
    findings: Findings = {}
    for library, by_version in sorted(made.items()):
        most_common = max(by_version, key=lambda version: len(by_version[version]))
        others = [file for version, created in by_version.items() if version != most_common for file in created]
        examples = [f"{version}: {created[0]}" for version, created in by_version.items()]
        for finding in found(
            "mixed-libraries", "warning", len(others), examples, library=library, versions=" and ".join(by_version)
        ):
            findings.setdefault(others[0], []).append(finding)
    return findings
