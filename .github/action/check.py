"""The step of action.yml: audit the lists of a split, and recompute the scores of records.

The environment variables QUERY, DATABASE, TRAIN, LABELS, RECORDS, BADGES and SUMMARY are the inputs of the action; an
empty one is not given. The exit status is 1 if the audit finds an error or a record is not verified, 2 without inputs.
"""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

import protocol as hp
from protocol.checks import ProtocolError, counted, printable
from protocol.verification import Verification


class Outcome(NamedTuple):
    """What a check found: whether it holds, its message on a badge, a sentence, the problems, and the details."""

    holds: bool
    message: str
    sentence: str
    problems: list[str]
    details: str


def audited(lists: dict[str, str], labels: str) -> Outcome:
    """Audit a split."""
    try:
        audit = hp.audit(**lists, labels=labels or None)
    except ProtocolError as error:
        return Outcome(False, "not readable", "the lists can't be read", [str(error)], str(error))
    n_checks = sum(map(len, audit.not_checked.values()))
    counts = f"{counted(audit.n_errors, 'error')}, {counted(audit.n_warnings, 'warning')}"
    severe = ("error", "undetermined")
    found = [finding for findings in audit.findings.values() for finding in findings if finding.severity in severe]
    problems = [f"{finding.name}: {', '.join(finding.examples)}" for finding in found]
    message = counted(audit.n_errors, "error") if audit.n_errors else "undetermined" if found else "audited"
    return Outcome(not found, message, f"{counts}; checks that need more data: {n_checks}", problems, f"{audit}")


def verified(folder: str, lists: dict[str, str]) -> Outcome:
    """Recompute every record in a folder, and compare the lists that it names with those that were audited."""
    files = sorted(path for path in Path(folder).rglob("*.json") if not path.name.startswith("."))
    paths = {part: Path(file) for part, file in lists.items() if Path(file).is_file()}
    digests = {part: hashlib.sha256(path.read_bytes()).hexdigest() for part, path in paths.items()}
    verifications, problems = list[Verification](), list[str]()
    for file in files:
        try:
            verification = hp.verify(file)
        except ProtocolError as error:
            problems.append(str(error))
            continue
        verifications.append(verification)
        named = json.loads(file.read_text(encoding="utf-8")).get("lists", {})
        others = [part for part in digests if part in named and named[part]["sha256"] != digests[part]]
        if not verification.holds:
            problems.append(verification.verdict)
        elif others:
            problems.append(f"{file}: its {others[0]} list is not the one that was audited.")
    if not files:
        problems.append(f"{folder}: no records (*.json) in this folder. `protocol evaluate --json` writes them.")
    n_values = sum(verification.n_values for verification in verifications)
    sentence = f"{counted(len(files), 'record')}, {counted(n_values, 'value')} recomputed"
    message = "not verified" if problems else "verified"
    return Outcome(not problems, message, sentence, problems, "\n\n".join(map(str, verifications)))


def main() -> int:
    """Make the checks whose inputs are given, and report them."""
    lists = {part: file for part in ("query", "database", "train") if (file := os.environ.get(part.upper()))}
    records = os.environ.get("RECORDS")
    outcomes = {"split": audited(lists, os.environ.get("LABELS", ""))} if lists else {}
    outcomes |= {"results": verified(records, lists)} if records else {}
    for name, outcome in outcomes.items():
        print(f"{name}: {outcome.message} ({outcome.sentence})")  # noqa: T201 - the log of the step
        for problem in outcome.problems:
            print(f"::error::{printable(problem).replace('%', '%25')}")  # noqa: T201
        if folder := os.environ.get("BADGES"):
            Path(folder).mkdir(parents=True, exist_ok=True)
            colour = "brightgreen" if outcome.holds else "red"
            badge = {"schemaVersion": 1, "label": name, "message": outcome.message, "color": colour}
            Path(folder, f"{name}.json").write_text(f"{json.dumps(badge)}\n")
    messages = {name: outcomes[name].message if name in outcomes else "not checked" for name in ("split", "results")}
    append("GITHUB_OUTPUT", "".join(f"{name}={message}\n" for name, message in messages.items()))
    if os.environ.get("SUMMARY") != "false":
        append("GITHUB_STEP_SUMMARY", summary(outcomes))
    if not outcomes:
        sys.stderr.write("Nothing to check: the action needs the lists of a split, or a folder of records.\n")
        return 2
    return int(not all(outcome.holds for outcome in outcomes.values()))


def summary(outcomes: dict[str, Outcome]) -> str:
    """Return the summary of the job in Markdown."""
    title = "; ".join(f"{name}: {outcome.message}" for name, outcome in outcomes.items())
    rows = "".join(f"| {name} | **{one.message}** | {one.sentence} |\n" for name, one in outcomes.items())
    parts = [f"## {title.capitalize()}\n\n| check | result | |\n|---|---|---|\n{rows}"]
    problems = [problem for outcome in outcomes.values() for problem in outcome.problems]
    parts += ["```text\n{}\n```\n".format("\n".join(problems))] if problems else []
    parts += [
        f"<details><summary>All details: {name}</summary>\n\n```text\n{outcome.details}\n```\n\n</details>\n"
        for name, outcome in outcomes.items()
        if outcome.details
    ]
    return "\n".join(parts)


def append(variable: str, text: str) -> None:
    """Append text to the file that a variable of GitHub names, if it is set."""
    if file := os.environ.get(variable):
        with open(file, "a", encoding="utf-8") as appended:
            appended.write(text)


if __name__ == "__main__":
    sys.exit(main())
