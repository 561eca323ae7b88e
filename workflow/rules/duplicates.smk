# Every metric without the queries that have a near-duplicate in the database or the training set. These rules exist
# only for datasets for which the project contains judged pairs.
use rule excluded as near_duplicates with:
    output:
        excluded="<results>/near_duplicates.csv",
        checksums=checksums("<results>/near_duplicates.csv"),
    log:
        "<logs>/near_duplicates.log",
    benchmark:
        "<benchmarks>/near_duplicates.tsv"
    params:
        near_duplicates=known_pairs_sha256(DATASET),


use rule score as score_without with:
    input:
        counts="<results>/{feature}/counts/{hasher}.h5",
        excluded=["<results>/near_duplicates.csv"],
        checksums=checksums("<results>/near_duplicates.csv"),
    output:
        scores="<results>/{feature}/duplicates/{hasher}.csv",
        checksums=checksums("<results>/{feature}/duplicates/{hasher}.csv"),
    log:
        "<logs>/{feature}/duplicates/{hasher}.log",
    benchmark:
        "<benchmarks>/{feature}/{hasher}/score_without.tsv"
    params:
        extensions=[("none", 0)],
    message:
        "scores without near-duplicates: {wildcards.hasher} on {wildcards.feature}"
