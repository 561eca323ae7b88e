"""All kinds of findings: their meaning, their consequence, how to fix them, and how papers treat them."""

import re
from dataclasses import dataclass

_PLACE = re.compile(r"\{(\w+)\|([^}]*)\}")
_STANDARD, _IMPROVED = "Moran 2016, thesis section 3.5.1", "Moran 2016, thesis section 3.5.2"


@dataclass(frozen=True)
class Kind:
    """The texts of one kind of finding; the other modules of this package contain the checks.

    Parameters
    ----------
    name : str
    summary : str
        Its meaning, in one line.
    template : str
        What follows for the results, in one sentence. A check replaces each ``{name|general words}``; without a split,
        the general words remain.
    treatment : str
        How papers treat it, with the source.
    fix : str
        How to fix it: one sentence in the imperative.
    """

    name: str
    summary: str
    template: str
    treatment: str
    fix: str

    @property
    def consequence(self) -> str:
        """What follows for the results of any split."""
        return _PLACE.sub(r"\2", self.template)

    def consequence_of(self, **words: str) -> str:
        """Return what follows for one split; `words` contains the words for each place in the template."""
        return _PLACE.sub(lambda place: words[place[1]], self.template)

    @property
    def source(self) -> str:
        """The last column of `protocol list`."""
        return self.treatment


KINDS = (
    Kind(
        "query-in-database",
        "A test query is also in the database.",
        "A query retrieves itself at distance 0, which raises every metric.",
        f"Forbidden by every protocol: queries are held out of the database ({_STANDARD}).",
        "Remove the queries from the database.",
    ),
    Kind(
        "query-in-train",
        "A test query is also in the training set.",
        "The hasher was trained on the query, so the result does not hold for unseen queries.",
        f"Forbidden by every protocol: test queries are used only once, to compute the metric ({_STANDARD}).",
        "Remove the queries from the training set.",
    ),
    Kind(
        "validation-in-test",
        "An item of a validation partition is also a test query.",
        "Options chosen with the {part|validation} partition were chosen with test queries.",
        f"Forbidden: options are chosen in every run without its test queries ({_STANDARD}).",
        "Draw the validation partitions from the items that are not test queries.",
    ),
    Kind(
        "validation-overlap",
        "The validation partitions share items with each other or with the training set.",
        "Items of {a|one partition} that are also in {b|another} are easier than unseen items, so "
        "validation scores are too high.",
        f"Forbidden if options are chosen by nested cross-validation, which needs three separate draws ({_STANDARD}).",
        "Draw the validation partitions and the training set one after the other, each from the remaining items.",
    ),
    Kind(
        "train-in-database",
        "An item of the training set is also in the database.",
        "The hasher was trained on database items that are ranked at test time, so the database is not unseen data.",
        "Inherent in the standard protocol, whose training set is drawn from the database "
        f"({_STANDARD}; He et al. 2018, section 5.1); removed by the improved one ({_IMPROVED}).",
        "Remove the training set from the database, as in the protocol `improved`, or state that it is included.",
    ),
    Kind(
        "validation-in-database",
        "An item of a validation partition is also in the database.",
        "Options chosen with the {part|validation} partition were chosen with database items that are "
        "ranked at test time.",
        f"Inherent in the standard protocol ({_STANDARD}); removed by the improved one ({_IMPROVED}).",
        "Remove the validation partitions from the database, or state that they are included.",
    ),
    Kind(
        "train-not-in-database",
        "An item of the training set is missing from the database.",
        "The database lacks items of the training set, so it differs from that of the standard protocol.",
        f"A departure from the standard protocol ({_STANDARD}); one popular toolkit omits the whole training set "
        "(DeepHash-pytorch; the protocol `cifar10_54k`).",
        "Add the training set to the database, or declare a protocol that omits it.",
    ),
    Kind(
        "duplicate-id",
        "An id occurs more than once in a partition.",
        "An item that occurs twice in the {part|same} partition counts twice in every mean or ranking.",
        "Not discussed; their partitions are sets.",
        "Keep only the first entry of each id.",
    ),
    Kind(
        "ids-differ-in-form",
        "Two lists contain ids that differ only in their form.",
        "These ids of {a|one list} and {b|another} are alike except for case, folders, extensions, the notation of "
        "numbers, quotes, blanks, invisible characters or encoding, so an overlap may be hidden.",
        "Not discussed; published lists of the same dataset contain paths of different machines.",
        "Write the ids of all lists in the same form, and repeat the audit.",
    ),
    Kind(
        "single-item",
        "A list contains a single item, which may be a complete list in one line.",
        "The {part|query or database} list has one item; if its line holds a complete list, no item was compared.",
        "Not discussed; the partitions of every protocol have many items.",
        "Write one item per line, and repeat the audit.",
    ),
    Kind(
        "label-conflict",
        "An id has different labels in two lists, or in a list and the dataset.",
        "Whether such an item is relevant depends on which of its label vectors is used.",
        "Not discussed.",
        "Correct the labels at their source, and write all lists again from that source.",
    ),
    Kind(
        "near-duplicate",
        "An item has a copy under another id in a partition that must be disjoint.",
        "Items of {a|one partition} have a copy in {b|another} ({alike|equal or nearly equal features}), so the "
        "partitions overlap although their ids are disjoint.",
        "Not discussed; they use the datasets unchanged.",
        "Exclude the affected queries (`protocol evaluate --exclude-queries`), or remove their copies.",
    ),
    Kind(
        "known-near-duplicate",
        "A test query has a near-duplicate in the database or training set, according to a list of judged pairs.",
        "According to {source|the judged pairs}, {judged|some queries have a near-duplicate} in the "
        "{part|database or the training set} ({exact|some of them an exact copy}){similar|}{limits|}.",
        "Not discussed; ciFAIR replaces duplicates in the test sets of CIFAR (Barz and Denzler 2020).",
        "Also report every metric without these queries (`--write-affected`, then `evaluate --exclude-queries`).",
    ),
    Kind(
        "pair-split",
        "The two modalities of an item are in different partitions.",
        "One half of each of these pairs is in a partition that lacks the other half, so part of an item is in a "
        "partition that must not contain it.",
        "Not discussed; they divide pairs of image and text, not single images and texts (Moran 2016, thesis "
        "section 3.2.2).",
        "Divide the items, and keep both modalities of an item in the same partitions.",
    ),
    Kind(
        "group-split",
        "A group of items (one video, patient, scene or product) is divided between partitions.",
        "The {a|first} partition has {n_a|items} of these groups and the {b|second} partition has {n_b|others}, so "
        "items that belong together are in both (groups: {source|from a file or from file names}).",
        "Each group of UCF101 is cut from one video, and its official lists do not divide groups (Soomro et al. "
        "2012); not discussed in the papers on hashing, most of whose datasets have no groups.",
        "Draw the partitions by group, or move each of these groups into one partition.",
    ),
    Kind(
        "doubtful-label",
        "A test query has a label that other annotators doubt.",
        "These queries have a doubtful label ({why|according to other annotators}), so the wrong items may "
        "count as relevant.",
        "Not discussed; human labels of CIFAR-10's test images are published (Peterson et al. "
        "2019), as are errors in its test labels (Northcutt et al. 2021).",
        "Report the metric with and without these queries (`--write-affected` writes their positions).",
    ),
    Kind(
        "selection-on-test",
        "The reported score is the best of several evaluations on the test set.",
        "{what|The log contains several evaluations on the test set}; "
        "{verdict|the reported score is the best of them}.",
        "Forbidden: options, including the number of epochs, are chosen without the test queries (Moran 2016, thesis "
        "section 3.5.1); one popular toolkit reports the best (DeepHash-pytorch, `Best MAP`).",
        "Report the last evaluation, or choose the epoch with validation queries that are not test queries.",
    ),
    Kind(
        "size-mismatch",
        "The size of a partition differs from the declared or expected one.",
        "The sizes of these partitions are not those {which|declared or expected}, so the results are not comparable.",
        "Each protocol, or its configuration, declares the sizes; `protocol list splits` lists the sources.",
        "Draw the partitions with these sizes, or declare the protocol that was used.",
    ),
    Kind(
        "class-imbalance",
        "A partition that is drawn class by class has too few items of some classes.",
        "The {part|affected} partition has fewer items of these classes than declared{why|}, so they count less; "
        "all of its classes: {counts|their numbers of items}.",
        "With class labels, the partitions are drawn with balanced classes (Moran 2016, thesis section 3.5).",
        "Draw the partition class by class.",
    ),
    Kind(
        "class-missing",
        "A partition has no item of a class.",
        "The {part|affected} partition has no items of these classes{why|}, so nothing is measured or learned "
        "about them.",
        "With class labels, the partitions are drawn with balanced classes (Moran 2016, thesis section 3.5).",
        "Draw the partition class by class, or remove the class from the whole dataset.",
    ),
    Kind(
        "query-without-relevant",
        "No database item is relevant to a test query.",
        "{truth|By the ground truth}, these queries have no relevant items, so their average precision is 0/0: "
        "{conventions|conventions count it differently}.",
        "The papers do not define 0/0, and their code is inconsistent: see `protocol list conventions`.",
        "State how such queries are counted (`protocol evaluate --convention`), or exclude them.",
    ),
    Kind(
        "unused-items",
        "An item of the dataset is in no partition.",
        "These items are neither queries nor in the database or training set, so the dataset is effectively smaller.",
        f"In the protocols of the papers, every item that is not held out is in the database ({_STANDARD}).",
        "Add the items to the database, or state that the dataset is smaller.",
    ),
    Kind(
        "runs-not-independent",
        "Runs of a randomly drawn protocol share more, or fewer, items than independent draws would.",
        "{what|The runs share too many or too few items}, so the standard deviation "
        "over runs is not that of independent runs.",
        f"The standard protocol repeats random subsampling in ten independent runs ({_STANDARD}).",
        "Draw each run with a different seed.",
    ),
    Kind(
        "not-reproducible",
        "Drawing the split again from its seed gives different partitions.",
        "The split is not the one that its protocol, sizes and seed determine{why|}, so it can't be reproduced.",
        "The papers give no seeds; HashNet and DeepHash-pytorch publish their lists instead.",
        "Draw the split again from its seed, or publish its lists instead of the seed.",
    ),
    Kind(
        "preprocessing-leak",
        "A mean, vocabulary, projection or epsilon was not fitted on the training set of its split.",
        "The {maker|preprocessing} was not fitted on this split's training set.",
        f"Everything that is learned is learned from the training set ({_IMPROVED}).",
        "Fit it again, using only the training set of this split.",
    ),
    Kind(
        "selection-leak",
        "Options were chosen with data other than the training set and validation partitions of their split.",
        "Options were chosen with data other than this split's {allowed|training set and validation partitions}: "
        "see {wrong|the listed files}.",
        f"In nested cross-validation, validation queries search a validation database ({_STANDARD}).",
        "Choose the options again, using only the validation partitions of this split.",
    ),
    Kind(
        "truth-leak",
        "Options were chosen with the test queries, or with the database that is ranked for them.",
        "Options were chosen with test data ({wrong|the listed files}), so the test no longer measures generalisation.",
        f"Forbidden: test queries and a held-out database are used only once, to compute the metric ({_IMPROVED}).",
        "Choose the options again with a validation set, and evaluate on the test set only once.",
    ),
    Kind(
        "split-difference",
        "The split differs from the split or protocol with which it was compared.",
        "{what|Items are missing, or are in other partitions}.",
        "Not discussed; results are comparable only if their splits are known to be the same.",
        "Use the same lists for both, or name the split with every result.",
    ),
    Kind(
        "mixed-libraries",
        "Files of one experiment were made with different versions of a library.",
        "These files were made with {versions|different versions} of {library|a library}, so a difference "
        "between results may come from the library.",
        "Not discussed; they name no versions.",
        "Create all files again with the installed version (`snakemake --forceall`).",
    ),
)
"""The kinds of findings in the order of reports: leaks first."""

KIND_OF = {kind.name: kind for kind in KINDS}
"""The kinds by name, in the same order."""
