"""Results in an S3-compatible store on a local server, which equal those in a folder."""

import importlib.util
import re
import shutil
import subprocess

import pytest
from project import ELSEWHERE

LACKING = [name for name in ("snakemake_storage_plugin_s3", "moto") if importlib.util.find_spec(name) is None]
# A mark, because it comes before the run that `elsewhere` is.
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(bool(LACKING), reason=f"{' and '.join(LACKING)} missing: see envs/remote.lock"),
]
KEYS = {"access_key": "key", "secret_key": "secret"}


@pytest.fixture
def store():
    """A server with an empty bucket, and a client."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    client = boto3.client(
        "s3",
        endpoint_url=f"http://{host}:{port}",
        region_name="us-east-1",
        aws_access_key_id=KEYS["access_key"],
        aws_secret_access_key=KEYS["secret_key"],
    )
    client.create_bucket(Bucket="bucket")
    yield client
    server.stop()


def test_the_tables_are_in_the_bucket_with_the_bytes_of_a_local_run(elsewhere, project, store):
    project.write(ELSEWHERE)
    arguments = ["--workflow-profile", "workflow/profiles/s3", "--default-storage-prefix", "s3://bucket/folder"]
    arguments += ["--storage-s3-endpoint-url", store.meta.endpoint_url, "--configfile", "small.yaml", "--", "metrics"]
    environment = {f"SNAKEMAKE_STORAGE_S3_{name.upper()}": value for name, value in KEYS.items()}
    options = {"cwd": project.folder, "env": project.environment() | environment, "capture_output": True, "text": True}
    done = subprocess.run(project.command(*arguments), **options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert not any(path.is_file() for path in (project.folder / "results").rglob("*"))
    for name in ("metrics.csv", "summary.csv"):
        stored = store.get_object(Bucket="bucket", Key=f"folder/results/small/{name}")["Body"].read()
        assert stored == (elsewhere.folder / "results" / "small" / name).read_bytes(), name
    shutil.rmtree(project.folder / ".snakemake")
    done = subprocess.run(project.command("-n", *arguments), **options)
    assert done.returncode == 1
    problem = r"^s3://bucket/folder/results/\S+: Snakemake has no record of how it was made\.$"
    assert re.search(problem, done.stdout + done.stderr, re.M)
