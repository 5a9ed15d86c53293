package sim

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed scenarios/*.json
var scenarios embed.FS

// BuiltinNames are the names of the scenarios that come with the program, in the order of their files.
func BuiltinNames() []string {
	files, err := scenarios.ReadDir("scenarios")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = strings.TrimSuffix(f.Name(), ".json")
	}
	return names
}

// Builtin returns a scenario that comes with the program.
func Builtin(name string) (*Scenario, error) {
	text, err := scenarios.ReadFile("scenarios/" + name + ".json")
	if err != nil {
		return nil, fmt.Errorf("scenario %q: there is no such one; the built-in ones are %s", name, strings.Join(BuiltinNames(), ", "))
	}
	s, err := ReadScenario(text)
	if err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	return s, nil
}
