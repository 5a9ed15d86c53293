package compare

// FairnessLevel is how equal the work of two columns was.
type FairnessLevel string

// The levels, from best to worst.
const (
	Fair      FairnessLevel = "fair"      // any difference is small
	Uncertain FairnessLevel = "uncertain" // no difference seen, but a noticeable one is not ruled out
	Qualified FairnessLevel = "qualified" // something differs: verdicts carry it as a condition
	Unfair    FairnessLevel = "unfair"    // something differs so much that gains and losses mean little
)

// Fairness says whether the columns had the same work to do.
type Fairness struct {
	Level   FairnessLevel // the worst of all columns
	Text    Words         // in a sentence
	Columns []FairnessLevel
	Lines   []FairnessLine
}

// FairnessLine is one thing that should be equal.
type FairnessLine struct {
	Key   string // "arrival_rate", "input_length", "output_length", "prefix_hit", "concurrency", "roles", "size", "captures", "filling", "time"
	Name  Words
	Unit  string // empty for texts
	Cells []FairnessCell
}

// FairnessCell is one column's value of it.
type FairnessCell struct {
	OK     bool
	Text   string // for things that aren't numbers; untrusted
	Value  float64
	Diff   *Difference // from column 0
	Level  FairnessLevel
	Reason *Reason // what differs, or why it is not known
}
