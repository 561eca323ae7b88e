"""Everything that an audit can find: what it is, what follows from it, and how the papers treat it."""

from dataclasses import dataclass

from protocol.checks import one_of

_STANDARD, _IMPROVED = "Moran 2016, thesis section 3.5.1", "Moran 2016, thesis section 3.5.2"


@dataclass(frozen=True)
class Kind:
    """One kind of finding: words only; the other modules of this package find it.

    Parameters
    ----------
    name : str
    summary : str
        What it is, in one line.
    consequence : str
        What follows for the numbers, in one sentence; names in braces are filled in by whoever finds it.
    treatment : str
        How the papers treat it, with the source.
    mending : str
        How to mend it: one sentence in the imperative.
    """

    name: str
    summary: str
    consequence: str
    treatment: str
    mending: str

    @property
    def source(self) -> str:
        """The last column of `protocol list`."""
        return self.treatment


def find(name: str) -> Kind:
    """Return the kind of finding of a name; ProtocolError with the known ones if there is none."""
    one_of(name, (kind.name for kind in KINDS), "finding", listing="protocol list findings")
    return next(kind for kind in KINDS if kind.name == name)


KINDS = (
    Kind(
        "query-in-database",
        "A test query is an item of the database, too.",
        "A query retrieves itself at distance 0, which raises every metric.",
        f"Forbidden by every protocol: queries are held out of what they are ranked against ({_STANDARD}).",
        "Take the queries out of the database.",
    ),
    Kind(
        "query-in-train",
        "A test query is an item of the training set, too.",
        "The hasher has seen the query, so the result is not one on unseen queries.",
        f"Forbidden by every protocol: test queries serve once, to compute the metric ({_STANDARD}).",
        "Take the queries out of the training set.",
    ),
    Kind(
        "validation-in-test",
        "An item of a validation partition is a test query, too.",
        "Options chosen with the {part} partition have seen test queries.",
        f"Forbidden: options are chosen in every run without its test queries ({_STANDARD}).",
        "Draw the validation partitions from the items that are no test queries.",
    ),
    Kind(
        "validation-overlap",
        "The validation partitions share items with each other or with the training set.",
        "Items of {a} that are in {b} are easier than unseen ones, so what is chosen with them is flattered.",
        f"Forbidden where options are chosen by nested cross-validation: three separate draws ({_STANDARD}).",
        "Draw the validation partitions and the training set one after the other, each from the items left.",
    ),
    Kind(
        "train-in-database",
        "An item that was trained on is ranked in the test.",
        "The hasher was trained on items that are ranked in the test, so the database is not an unseen one.",
        "Inherent in the standard protocol, whose training set is drawn from the database "
        f"({_STANDARD}; He et al. 2018, section 5.1); removed by the improved one ({_IMPROVED}).",
        "Take the training set out of the database, as the protocol `improved` does, or say that it is in it.",
    ),
    Kind(
        "validation-in-database",
        "An item of a validation partition is ranked in the test.",
        "Options that are chosen with {part} are chosen with items that are ranked in the test.",
        f"Inherent in the standard protocol ({_STANDARD}); removed by the improved one ({_IMPROVED}).",
        "Take the validation partitions out of the database, or say that they are in it.",
    ),
    Kind(
        "train-not-in-database",
        "An item that was trained on is missing in the database.",
        "The database lacks items that were trained on, so another one is ranked than under the standard protocol.",
        f"A departure from the standard protocol ({_STANDARD}); one popular toolkit leaves the whole training set out "
        "(DeepHash-pytorch; the protocol `cifar10_54k`).",
        "Add the training set to the database, or declare a protocol that leaves it out.",
    ),
    Kind(
        "duplicate-id",
        "An id stands more than once in a partition.",
        "An item that stands twice in {part} counts twice, in every mean or ranking that it is part of.",
        "Not treated in the papers, whose partitions are sets.",
        "Keep the first line of each id.",
    ),
    Kind(
        "ids-differ-in-form",
        "Two lists have ids that would be the same if they were written in one form.",
        "These ids of {a} and {b} are alike except for case, folders, extension, leading zeros, quotes, blanks or "
        "Unicode normalisation, so an overlap may be hidden.",
        "Not treated in the papers; the published lists of one dataset hold the paths of different machines.",
        "Write the ids of all lists in one form, and audit them again.",
    ),
    Kind(
        "label-conflict",
        "An id has different labels in two places.",
        "Whether such an item is relevant depends on which of its two label vectors is read.",
        "Not treated in the papers.",
        "Correct the labels at their source, and write all lists again from there.",
    ),
    Kind(
        "near-duplicate",
        "An item has a copy under another id in a partition that must be disjoint.",
        "Items of {a} have a copy in {b} ({alike}), so keeping ids apart does not keep the partitions apart.",
        "Not treated in the papers, which take the datasets as they are.",
        "Leave the affected queries out (`protocol evaluate --exclude-queries`), or take their copies out.",
    ),
    Kind(
        "known-near-duplicate",
        "A test query has a near-duplicate in the database or the training set, by a list of pairs that people judged.",
        "By the pairs of {source}, {judged} in the {part} ({exact}){similar}{limits}.",
        "Not treated in the papers; ciFAIR replaces the duplicates in the test sets of CIFAR (Barz and Denzler 2020).",
        "Report every metric without these queries as well (`--write-affected`, then `evaluate --exclude-queries`).",
    ),
    Kind(
        "pair-split",
        "The two modalities of an item are in different partitions.",
        "One half of these pairs is in a partition that the other half is not in, so an item is seen where it must not "
        "be.",
        "Not treated in the papers, which divide pairs of image and text, not images and texts (Moran 2016, thesis "
        "section 3.2.2).",
        "Divide the items, and take both modalities of an item along.",
    ),
    Kind(
        "group-split",
        "A group of items (one video, patient, scene or product) is divided between partitions.",
        "The {a} partition has {n_a} of these groups and the {b} partition has {n_b}, so items that belong together "
        "are on both sides (groups: {source}).",
        "The groups of UCF101 are cut from one video each, and its official lists keep them apart (Soomro et al. "
        "2012); not treated in the papers on hashing, most of whose datasets name no groups.",
        "Draw the partitions by groups, or move each of these groups into one partition.",
    ),
    Kind(
        "doubtful-label",
        "A test query has a label that other annotators doubt.",
        "These queries have a doubtful label ({why}), so items are counted as relevant that may not be.",
        "Not treated in the papers on hashing; human labels of CIFAR-10's test images are published (Peterson et al. "
        "2019), as are errors in its test labels (Northcutt et al. 2021).",
        "Report the metric without these queries next to the one with them (`--write-affected` writes their places).",
    ),
    Kind(
        "selection-on-test",
        "The reported score is the best of several evaluations on the test set.",
        "{what}; {verdict}.",
        "Forbidden: options, the number of epochs among them, are chosen without the test queries (Moran 2016, thesis "
        "section 3.5.1); one popular toolkit prints and keeps the best (DeepHash-pytorch, `Best MAP`).",
        "Report the last evaluation, or choose the epoch on validation queries that are not in the test.",
    ),
    Kind(
        "size-mismatch",
        "A partition has another size than the protocol declares.",
        "The partitions have other sizes than {than}, so the numbers are not comparable.",
        "Each protocol declares its sizes, or the configuration does: see `protocol list splits` for their sources.",
        "Draw the partitions in these sizes, or declare the protocol that was followed.",
    ),
    Kind(
        "class-imbalance",
        "A partition that is drawn class by class has fewer items of some classes.",
        "The {part} partition holds fewer items of these classes than it was to hold{why}, so they count less; all of "
        "its classes: {held}.",
        "With class labels, the partitions are drawn with balanced classes (Moran 2016, thesis section 3.5).",
        "Draw the partition class by class.",
    ),
    Kind(
        "class-missing",
        "A partition has no item of a class.",
        "The {part} partition has no item of these classes{why}, so nothing is measured or learned of them there.",
        "With class labels, the partitions are drawn with balanced classes (Moran 2016, thesis section 3.5).",
        "Draw the partition class by class, or leave the class out of the whole dataset.",
    ),
    Kind(
        "query-without-relevant",
        "No database item is relevant to a test query.",
        "{truth} these queries have no relevant item and mAP is 0/0: {conventions}.",
        "The papers do not say what 0/0 is; their code does, and not alike: see `protocol list conventions`.",
        "State what such queries count as (`protocol evaluate --convention`), or leave them out.",
    ),
    Kind(
        "unused-items",
        "An item of the dataset is in no partition.",
        "These items are neither queries, nor ranked, nor learned from, so this is a split of a smaller dataset.",
        f"In the protocols of the papers every item that is not held out is in the database ({_STANDARD}).",
        "Add the items to the database, or state that the dataset is smaller.",
    ),
    Kind(
        "runs-not-independent",
        "Runs of a protocol that is drawn at random share items as independent draws do not.",
        "{what}, so the standard deviation over runs is not that of independent ones.",
        f"Ten independent runs of random subsampling ({_STANDARD}).",
        "Draw every run from a seed of its own.",
    ),
    Kind(
        "not-reproducible",
        "Drawn again from its seed, a partition comes out otherwise.",
        "The split is not the one that its protocol, sizes and seed stand for{why}, so nobody can draw it again.",
        "The papers give no seeds; HashNet and DeepHash-pytorch publish their lists instead.",
        "Draw the split again from its seed, or publish its lists in place of the seed.",
    ),
    Kind(
        "preprocessing-leak",
        "A mean, vocabulary, projection or epsilon was fitted on other data than the training set of its split.",
        "The {maker} was fitted on other data than this split's training set.",
        f"Everything that is learned is learned from the training set ({_IMPROVED}).",
        "Fit it again on the training set of this split alone.",
    ),
    Kind(
        "selection-leak",
        "Options were chosen with other data than the training set and validation partitions of their split.",
        "Options were chosen with other data than this split's {allowed}: see {wrong}.",
        f"Nested cross-validation: validation queries against a validation database ({_STANDARD}).",
        "Choose the options again, with the validation partitions of this split alone.",
    ),
    Kind(
        "truth-leak",
        "Options were chosen with the test: its queries, or the database that is ranked for them.",
        "Options were chosen by how the test comes out: {wrong} are the test's, so the test is no longer one.",
        f"Forbidden: test queries and a held-out database serve once, to compute the metric ({_IMPROVED}).",
        "Choose the options again, with a validation set, and score the test once.",
    ),
    Kind(
        "split-difference",
        "The split differs from another split, or from a protocol, that it was compared with.",
        "{what}.",
        "Not treated in the papers; numbers on two splits are comparable only where both are known to be the same.",
        "Use the same lists for both, or name the split with every number.",
    ),
    Kind(
        "mixed-libraries",
        "Files of one experiment were made with different versions of a library.",
        "These files were made with {versions} of {library}, so a difference between results may come from the "
        "library.",
        "Not treated in the papers, which name no versions.",
        "Make all files again with the installed version (`snakemake --forceall`).",
    ),
)
"""In the order in which they are reported: leaks first."""
