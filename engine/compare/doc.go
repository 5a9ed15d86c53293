// Package compare puts deployments side by side: level and spread of every
// metric, the difference of each column from the first, an interval for it that
// respects that samples of one engine resemble each other, and a verdict only
// where there is evidence.
//
//	Side (engines with their series) → aligned and aggregated → Row → Table
//
// What may be compared at all is decided before anything is computed: a cell
// that must not be compared is Refused with its Reason, a verdict that holds only
// under a condition carries the reasons as Qualifications, and whether the
// columns had the same work to do stands first, in Fairness.
//
// How lines, engines and metrics become numbers is said in docs/compare.md, and
// in Table.Method for the table at hand. Everything is deterministic: the same
// samples give the same table.
package compare
