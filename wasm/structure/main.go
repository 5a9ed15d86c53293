// Command structure gives functions of a WebAssembly module that Go built a structured control flow.
//
//	structure IN OUT [PREFIX…]
//
// Go's compiler writes a function as one loop around a br_table: each jump stores a number and goes through both. Engines
// don't see the loops of the source in that. The regions between jumps are found again here and written as nested blocks
// and loops; functions whose names (as in the module's name section) begin with one of the prefixes are taken, all where
// none is given.
//
// A goroutine that was switched away resumes in the middle of functions, which only the old form can do. So a function
// that calls others keeps it, as a function of its own that the new form calls when it is entered anywhere but at its
// beginning. The name section is left out of what is written.
package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: structure IN OUT [PREFIX…]")
	}
	in, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	prefixes := args[2:]
	out, st, err := rewrite(in, func(name string) bool {
		return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
	})
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	fmt.Printf("  %d of %d chosen functions structured, %d of them kept for resuming; %d of another shape, %d with entangled loops\n",
		st.done, st.chosen, st.kept, st.other, st.entangled)
	if st.done == 0 {
		fmt.Fprintln(os.Stderr, "  structure: no function has the shape that is known here, so the module stays slow; does another Go compiler write another one?")
	}
	return os.WriteFile(args[1], out, 0o666)
}
