"""A Slurm of one node, for tests: munged, slurmctld and slurmd of this machine, in a temporary folder, on loopback.

Nothing is installed and nothing outside the folder is written; it needs the programs of the packages slurm-wlm and
munge (Debian's names), and no accounting database.
"""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
MUNGE_FILES = ("socket", "key-file", "pid-file", "log-file", "seed-file")
CONF = Path(__file__).with_name("slurm.conf").read_text()


def find(program: str) -> str | None:
    """Return where a program is; daemons stand in folders that are not on everyone's PATH."""
    return shutil.which(program, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")


def missing() -> list[str]:
    """Return the programs that this machine lacks."""
    return [program for program in PROGRAMS if find(program) is None]


def free_ports() -> list[int]:
    """Return two ports of loopback that nothing listens at."""
    with socket.create_server(("127.0.0.1", 0)) as one, socket.create_server(("127.0.0.1", 0)) as other:
        return [one.getsockname()[1], other.getsockname()[1]]


@contextlib.contextmanager
def daemon(*command: str | Path, log: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen]:
    """Run a program in the foreground for the length of the block."""
    words = [find(str(command[0])), *map(str, command[1:])]
    with open(log, "wb") as output, subprocess.Popen(words, stdout=output, stderr=output, env=environment) as running:
        try:
            yield running
        finally:
            running.terminate()
            try:
                running.wait(20)
            except subprocess.TimeoutExpired:
                running.kill()


def wait_for(reached, daemons: list[subprocess.Popen], folder: Path) -> None:
    """Look until `reached()`; if one of the daemons ends before, show the logs."""
    while not reached():
        if any(daemon.poll() is not None for daemon in daemons):
            logs = "\n".join(f"== {log.name}\n{log.read_text()[-2000:]}" for log in sorted(folder.glob("*.log")))
            raise RuntimeError(f"a daemon of Slurm ended\n{logs}")
        time.sleep(0.1)


@contextlib.contextmanager
def single_node() -> Iterator[dict[str, str]]:
    """Start a Slurm and give the environment in which its programs find it; it is stopped when the block ends."""
    # Short and owned by this user all the way: a socket's path has at most 107 characters, munged checks folders.
    folder = Path(tempfile.mkdtemp(prefix="slurm."))
    folder.chmod(0o755)
    munge = folder / "munge"
    for part in (munge, folder / "state", folder / "spool"):
        part.mkdir(mode=0o755)
    (munge / "key-file").touch(mode=0o600)
    (munge / "key-file").write_bytes(os.urandom(128))
    host = socket.gethostname().partition(".")[0]
    controller_port, node_port = free_ports()
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    machine = {"host": host, "user": getpass.getuser(), "cores": os.cpu_count(), "memory_mb": memory_mb * 9 // 10}
    ports = {"controller_port": controller_port, "node_port": node_port}
    (folder / "slurm.conf").write_text(CONF.format(folder=folder, **machine, **ports))
    # The executor plugin takes Slurm's variables from the environment of its inner srun: it gets the file's name back.
    srun = folder / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(f'#!/bin/sh\nSLURM_CONF={folder / "slurm.conf"} exec {find("srun")} "$@"\n')
    srun.chmod(0o755)
    own = {"SLURM_CONF": str(folder / "slurm.conf"), "PATH": f"{srun.parent}:{os.environ['PATH']}"}
    environment = os.environ | own

    def idle() -> bool:
        found = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True)
        return found.stdout.strip() == "idle"

    try:
        with contextlib.ExitStack() as running:
            daemons = list[subprocess.Popen]()

            def run(*command: str | Path) -> None:
                log = folder / f"{command[0]}.out.log"
                daemons.append(running.enter_context(daemon(*command, log=log, environment=environment)))

            run("munged", "--foreground", *(f"--{part}={munge / part}" for part in MUNGE_FILES))
            wait_for((munge / "socket").exists, daemons, folder)
            run("slurmctld", "-D")
            run("slurmd", "-D", "-N", host)
            wait_for(idle, daemons, folder)
            try:
                yield environment
            finally:
                subprocess.run(["scancel", "--user", getpass.getuser()], env=environment, check=False)
    finally:
        shutil.rmtree(folder)
