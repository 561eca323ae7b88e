"""One timing harness for the benchmarks: contenders take turns in the same process, and the best turn counts."""

import resource
import sys
import time
from collections.abc import Callable, Mapping


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def best(
    contenders: Mapping[str, Callable[[], object]], turns: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Return the seconds of each contender's best turn; a first turn, which loads and compiles, does not count."""
    seconds = dict.fromkeys(contenders, float("inf"))
    for turn in range(turns + 1):
        for name, run in contenders.items():
            start = clock()
            run()
            if turn:
                seconds[name] = min(seconds[name], clock() - start)
    return seconds


def peak_gb() -> float:
    """Return the peak memory of this process since it started."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
