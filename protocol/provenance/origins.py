"""What each result of an experiment was made with: digests of the seeds, the options and the code.

They are stored next to the checksum of a result, and cover its job and all earlier jobs of the experiment. Snakemake's
own records (``.snakemake``) may be lost, or replaced with ``--touch``; an origin stays with the result. What reads
results compares their origins with those that the plan of the experiment expects.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

from protocol.provenance import checksums

Origin = dict[str, str]
"""A digest for each of "seeds", "options" and "code"."""
# Parameters that describe where files of the user are. Snakemake compares them.
_STATES = ("user", "state", "states")


def origin(params: Mapping[str, Any], inputs: Iterable[Origin | None]) -> Origin:
    """Return the origin of a job's results from its parameters and the origins of its inputs.

    Examples
    --------
    >>> first = origin({"seed": 0, "code": "a"}, [])
    >>> other = origin({"seed": 1, "code": "a"}, [])
    >>> [kind for kind, digest in origin({"metric": "mAP"}, [first]).items() if digest != other[kind]]
    ['seeds', 'options', 'code']
    """
    texts_by_kind: dict[str, list[str]] = {"seeds": [], "options": [], "code": []}
    for name, value in sorted(params.items()):
        if name not in _STATES:
            kind = "seeds" if name.endswith(("seed", "seeds")) else "code" if name == "code" else "options"
            texts_by_kind[kind].append(f"{name}: {value!r}")
    origins = [one for one in inputs if one is not None]
    contents = {kind: [texts, sorted({one[kind] for one in origins})] for kind, texts in texts_by_kind.items()}
    return {kind: hashlib.sha256(json.dumps(one).encode()).hexdigest()[:16] for kind, one in contents.items()}


def holders(files: Iterable[Any], experiment: str) -> dict[Any, Any]:
    """Return the results of an experiment among the files of a job, each with the file that contains its origin.

    This is an HDF5 file itself, or the checksum file of another one, which is then also a file of the job. Datasets and
    features are left out: experiments share them, also from a cache, and their folders are named after their options.
    """
    known = {str(file): file for file in files}
    named = {name: name if name.endswith(".h5") else f"{name}{checksums.SUFFIX}" for name in known}
    folder = f"results/{experiment}/"
    return {known[name]: known[holder] for name, holder in named.items() if folder in name and holder in known}


def record(job: Any) -> None:
    """Store the origin of each result that a job has just written."""
    experiment = job.config["experiment"]
    inputs = map(checksums.read_origin, holders(job.input, experiment).values())
    made_with = origin(dict(job.params.items()), inputs)
    for holder in holders(job.output, experiment).values():
        checksums.add_origin(holder, made_with)
