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
	h := hot{args[2:], make([]bool, len(args)-2)}
	out, st, err := rewrite(in, h.has)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if idle := h.idle(); len(idle) > 0 {
		return fmt.Errorf("%s: no function's name begins with %s: it is gone or was inlined; take it out, or correct it", args[0], strings.Join(idle, ", "))
	}
	fmt.Printf("  %d of %d chosen functions structured, %d of them kept for resuming; %d of another shape, %d with entangled loops\n",
		st.done, st.chosen, st.kept, st.other, st.entangled)
	if st.done == 0 {
		fmt.Fprintln(os.Stderr, "  structure: no function has the shape that is known here, so the module stays slow; does another Go compiler write another one?")
	}
	return os.WriteFile(args[1], out, 0o666)
}

// hot chooses functions by the beginnings of their names, all of them without any, and keeps in mind which were of use.
type hot struct {
	prefixes []string
	used     []bool
}

func (h *hot) has(name string) bool {
	found := len(h.prefixes) == 0
	for i, p := range h.prefixes {
		if strings.HasPrefix(name, p) {
			h.used[i], found = true, true
		}
	}
	return found
}

// idle lists the prefixes that no name begins with.
func (h *hot) idle() (list []string) {
	for i, used := range h.used {
		if !used {
			list = append(list, h.prefixes[i])
		}
	}
	return list
}
