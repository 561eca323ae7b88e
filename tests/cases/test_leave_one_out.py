"""Queries that are the database items."""

import numpy as np
import pytest

from protocol.cli import main

OPTIONS = [f"--{side}-{kind}={kind}.npy" for side in ("query", "database") for kind in ("codes", "labels")]


@pytest.mark.case("17-queries-are-database-items")
@pytest.mark.usefixtures("case")
def test_leaving_the_queries_out_of_their_rankings(capsys):
    """The values of the case are means over all orders of tied items."""
    for options, sentence, value in (
        ([], "the queries are the database items: each query finds itself first", 0.9722),
        (["--leave-one-out"], "each query's own row is left out of the 6 database items", 0.9444),
    ):
        assert main(["evaluate", *OPTIONS, "--metrics", "mAP", "P@1", "--per-query=values.csv", *options]) == 0
        printed = " ".join(capsys.readouterr().out.split())
        assert sentence in printed
        assert f"mAP {value}" in printed
        of_queries = np.loadtxt("values.csv", delimiter=",", skiprows=1, usecols=2)
        assert round(of_queries.mean(), 4) == value
