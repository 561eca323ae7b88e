# The tested environment in a container, with Snakemake and the pipeline. Never built where the project is developed; a test
# holds its Python and its lock to the project's.
#   docker build -t hashing-protocol . && docker run -v "$PWD/results:/protocol/results" hashing-protocol
FROM python:3.11-slim
WORKDIR /protocol
COPY envs/run.lock envs/run.lock
RUN pip install --no-cache-dir --require-hashes -r envs/run.lock
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e .
ENTRYPOINT ["snakemake", "--workflow-profile", "workflow/profiles/default"]
