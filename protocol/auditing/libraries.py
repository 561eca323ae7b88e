"""Files of one experiment that were made with different versions of a library."""

from collections.abc import Iterable
from pathlib import Path

from protocol.auditing.all_checks import Findings
from protocol.auditing.findings import found
from protocol.storage import read_provenance

_BY_CODE_DIGEST = "hashing-protocol"  # a file whose code changed is made again, so its version may differ


def audit_libraries(files: Iterable[str | Path]) -> Findings:
    """Return a warning for each library, or Python, of which the files were made with more than one version.

    Parameters
    ----------
    files : iterable of path
        Any of an experiment's HDF5 files. A library that a file does not record, for example because it was not
        installed, is not compared.

    Returns
    -------
    Findings
        By the first file that was made with another version than most; ``count`` is the number of such files, and
        ``examples`` has each version with its first file.

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
        usual = max(by_version, key=lambda version: len(by_version[version]))
        others = [file for version, of in by_version.items() if version != usual for file in of]
        examples = [f"{version}: {of[0]}" for version, of in by_version.items()]
        for finding in found(
            "mixed-libraries", "warning", len(others), examples, library=library, versions=" and ".join(by_version)
        ):
            findings.setdefault(others[0], []).append(finding)
    return findings
