//go:build !cgo || !linux

package gpu

import (
	"errors"
	"testing"
)

func TestOpenWithoutCgo(t *testing.T) {
	if _, err := Open(""); !errors.Is(err, ErrNone) {
		t.Error(err)
	}
}
