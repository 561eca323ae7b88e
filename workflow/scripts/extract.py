"""Extract one feature from every image of the dataset."""

from tqdm import tqdm

from protocol import registry, storage


def main(job):
    """Write what the feature extracts, from each of its modalities, before anything is learned from a training set."""
    name, options = job.wildcards.feature, job.params.options
    feature = registry.get("feature", name)(**options)
    passport = storage.passport(f"feature {name}", parameters=options, inputs=dict(job.input.items()))
    with storage.writing(job.output.features, passport) as file:
        for place, modality in feature.modalities.items():
            with (
                storage.streamed(job.input.content, modality.reads) as images,
                tqdm(total=len(images), desc=f"{name}: {modality.reads}", unit="image", disable=None) as bar,
            ):
                for rows, image in modality.extract(images, progress=bar.update):
                    file.append(f"{place}X", rows)
                    file.append(f"{place}image", image)


if __name__ == "__main__":
    from job import run

    run(main, snakemake)  # noqa: F821 - Snakemake defines it
