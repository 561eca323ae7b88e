"""The passport of everything: the setting, the versions, and what made each file of run 0."""

from protocol.report.figure import Section
from protocol.report.results import Results


def section(results: Results) -> Section:
    """Return the passports of the files of run 0 and the whole setting."""
    text = (
        "Every file says what made it, from what, with which seed. These are the files of run 0; those of the other "
        "runs say the same of themselves."
    )
    files = [
        {"path": path, "digest": passport["digest"][:16]}
        | {key: passport[key] for key in ("maker", "seed", "inputs", "parameters")}
        for path, passport in results.passports.items()
    ]
    return Section(
        "provenance",
        "Passports and setting",
        [text],
        template="provenance.html.j2",
        context={"files": files, "setting": results.setting, "versions": results.passport["versions"]},
    )
