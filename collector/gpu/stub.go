//go:build !cgo || !linux

package gpu

import "fmt"

// Open fails: this build can't load the library.
func Open(string) (Cards, error) {
	return nil, fmt.Errorf("%w: this program was built without cgo, or not for Linux", ErrNone)
}
