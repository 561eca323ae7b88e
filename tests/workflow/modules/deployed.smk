# What snakedeploy 0.17.1 wrote for a repository of this name.
from snakemake.utils import min_version


min_version("6.10.0")


configfile: "config/config.yaml"


# declare https://github.com/owner/protocol as a module
module protocol:
    snakefile:
        github("owner/protocol", path="workflow/Snakefile", tag="v1")
    config:
        config


# use all rules from https://github.com/owner/protocol
use rule * from protocol
