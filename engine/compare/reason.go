package compare

// Code names a reason.
type Code string

// Reason is why something was refused, qualified or is missing.
type Reason struct {
	Code  Code
	Short Words // about five words, for the cell
	Long  Words // what it means and what to do
}
