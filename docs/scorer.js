// The search ranks pages of classes and of stored results after the pages that explain their words.
const AFTER = 10;
var Scorer = {
  score: ([page, title, anchor, description, score]) =>
    page.startsWith("reference/generated/") || page.startsWith("results/") ? score - AFTER : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
