"""`evaluate` with encodings, the ranking and relevance as plain keywords, so that tests can vary them."""

from protocol.evaluation import Codes, Outputs, Relevant, evaluate


def evaluated(query, database, *, n_bits=None, bit_order="little", binarize=None, ranking="hamming", **options):
    """Return the evaluation; `relevance` may replace the labels."""
    items = Codes(database, n_bits, bit_order, binarize)
    if "relevance" in options:
        options["truth"] = Relevant(options.pop("relevance"))
    return evaluate(Outputs(query) if ranking == "asymmetric" else query, items, **options)
