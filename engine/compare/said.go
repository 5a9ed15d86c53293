package compare

import "fmt"

// Said is an error in the languages of the pages. Names in its texts are untrusted.
type Said struct {
	Words
	Err error // what it is a case of; may be nil
}

func (e *Said) Error() string { return e.EN }

// Unwrap gives errors.Is access to the case.
func (e *Said) Unwrap() error { return e.Err }

// saidf makes one from two formats with the same arguments.
func saidf(en, zh string, args ...any) *Said {
	return &Said{Words: Words{EN: fmt.Sprintf(en, args...), ZH: fmt.Sprintf(zh, args...)}}
}
