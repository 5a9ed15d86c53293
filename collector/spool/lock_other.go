//go:build !unix

package spool

import "os"

// lock does nothing where there is no flock: two collectors must not share a folder there.
func lock(*os.File) error { return nil }
