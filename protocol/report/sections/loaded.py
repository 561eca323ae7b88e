"""What was loaded: the dataset's arrays, its official parts, and some of its images."""

from protocol.report.contact_sheet import contact_sheet
from protocol.report.figure import Section, Table
from protocol.report.results import Results
from protocol.storage import grouped


def section(results: Results) -> Section:
    """Return the shapes of the arrays, and a contact sheet."""
    shapes = results.provenance["arrays"].items()
    arrays = [[name, " \N{MULTIPLICATION SIGN} ".join(f"{side:,}" for side in shape)] for name, shape in shapes]
    parts = grouped(results.items).get("partitions", {})
    text = []
    if parts:
        sizes = ", ".join(f"{name} {len(rows):,}" for name, rows in parts.items())
        text.append(f"Official parts: {sizes}.")
    if results.images is None:
        text.append("There are no images in this dataset: its items are vectors.")
        sheet, caption = None, ""
    else:
        sheet = contact_sheet(results.images, results.items.get("labels"), results.class_names)
        which = _of_classes(len(sheet.names), len(results.class_names))
        caption = f"A few images{which}, spread evenly over the dataset's order."
    return Section(
        "loaded",
        "What was loaded",
        text,
        tables=[Table("arrays", "The dataset's arrays.", ["array", "shape"], arrays)],
        template="loaded.html.j2",
        context={"sheet": sheet, "caption": caption},
    )


def _of_classes(shown: int, n_classes: int) -> str:
    if not shown:
        return ""
    return " of each class" if shown == n_classes else f" of the first {shown} of {n_classes} classes"
