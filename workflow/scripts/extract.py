"""Extract one feature from every image of the dataset."""

from tqdm import tqdm

from protocol import registry, storage


def main(job):
    """Write what the feature extracts before anything is learned from a training set."""
    name, options = job.wildcards.feature, job.params.options
    images = storage.read(job.input.content, ["images"])["images"]
    with tqdm(total=len(images), desc=name, unit="image", disable=None) as bar:
        arrays = registry.get("feature", name)(**options).extract(images, progress=bar.update)
    passport = storage.passport(f"feature {name}", parameters=options, inputs=dict(job.input.items()))
    storage.write(job.output.features, arrays, passport)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
