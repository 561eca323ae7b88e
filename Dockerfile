# The tested environment in a container, with Snakemake and the pipeline. It has not been built yet; tests compare its
# Python, its files and its commands with the project's. From a checkout, whose folder `results` contains the stored
# reference results:
#   docker build -t hashing-protocol . && docker run -v "$PWD/results:/protocol/results" hashing-protocol
# Arguments are those of snakemake, which finds the default profile by itself.
FROM python:3.11-slim
WORKDIR /protocol
COPY envs/run.lock envs/run.lock
RUN pip install --no-cache-dir --require-hashes -r envs/run.lock
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation -e .
ENTRYPOINT ["snakemake"]
