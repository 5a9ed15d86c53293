package sim

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// Complaints say the line, the place, and what to do.
func TestScenarioErrors(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		s, err := ReadScenario([]byte(text))
		if err == nil {
			t.Errorf("%s\nwas taken: %+v", text, s)
		} else if err.Error() != want {
			t.Errorf("%s\n got %s\nwant %s", text, err, want)
		}
	}
	in := func(line string) string {
		return "{\n  \"deployments\": [\n    {\n      " + line + "\n    }\n  ]\n}"
	}
	f(``, "line 1: not JSON: the text ends too early")
	f("{\n\"deployments\": [\n{\n", "line 4: deployments[0]: not JSON: the text ends too early")
	f("{\n\n  deployments: []}", "line 3: not JSON: invalid character 'd'")
	f("{}\n{}", "line 2: something follows the end of the scenario; remove it")
	f(`[]`, "line 1: this is a list; give an object {…}")
	f(`{}`, "line 1: deployments: there are none; give at least one")
	f("{\n\"nmae\": 1}", `line 2: there is no key "nmae" here; the keys are about, deployments, name`)
	f("{\"name\": \"a\",\n\n\"name\": \"b\"}", `line 3: the key "name" is given twice; remove one`)
	f(in(`"rate": 7`), `line 4: deployments[0]: there is no key "rate" here; the keys are cards, cost, draft, engines, faults, flops, graphs, kv, logging, moe, name, nccl, requests, role, scheduler, trace, zos`)
	f(in(`"engines": "4"`), "line 4: deployments[0].engines: this is a text; give a whole number")
	f(in(`"engines": 1.5`), "line 4: deployments[0].engines: 1.5 is not a whole number in range")
	f(in(`"engines": 1e999`), "line 4: deployments[0].engines: 1e999 is not a whole number in range")
	f(in(`"engines": null`), "line 4: deployments[0].engines: this is null; give a whole number")
	f(in(`"zos": 1`), "line 4: deployments[0].zos: this is a number; give true or false")
	f(in(`"role": true`), "line 4: deployments[0].role: this is a truth value; give a text")
	f(in(`"role": "prefill"`), `line 4: deployments[0].role: "prefill" is not known; give one of ["mixed" "prompt" "decode"]`)
	f(in(`"kv": {"blocks": 1}`), "line 4: deployments[0].kv.blocks: 1 is out of range; give 2 to 16000000")
	f(in("\"requests\": {\n\"prompt\": {\n\"mean\": 0}}"), "line 6: deployments[0].requests.prompt.mean: 0 is out of range; give 1 to 1e+06")
	f(in(`"requests": {"rate": 1e400}`), "line 4: deployments[0].requests.rate: 1e400 is out of range")
	f(in(`"requests": {"rate": []}`), "line 4: deployments[0].requests.rate: this is a list; give a number")
	f(in("\"graphs\": [8,\n4]"), "line 5: deployments[0].graphs[1]: 4 is not greater than the size before; give them in ascending order")
	f(in(`"draft": {"accept": 1}`), "line 4: deployments[0].draft.accept: this is a number; give a list […]")
	f(in(`"draft": {"ramp": {"from_step": 9, "to_step": 9, "factor": 2}}`), "line 4: deployments[0].draft.ramp.to_step: 9 does not come after from_step, 9; give a later step")
	f(in(`"requests": {"prefix": {"branches": [1]}}`), "line 4: deployments[0].requests.prefix.tokens: there are 2 levels here and 1 in branches; give as many")
	f(in(`"faults": ["hang"]`), `line 4: deployments[0].faults[0]: fault "hang": at which step? give hang@STEP`)
	f(in(`"faults": [7]`), "line 4: deployments[0].faults[0]: this is a number; give a text")
	// The place of a value that the file leaves to its default is that of the nearest one around it.
	f(in(`"scheduler": {"nextn": 3}, "draft": {"accept": []}`), "line 4: deployments[0].draft.accept: it is empty; give a chance for each drafted position")
	f("{\"deployments\": [{},\n{}]}", `line 2: deployments[1].name: "engine" is another deployment's name too; give each its own`)
	f(in(`"engines": 513, "cards": 8`), "line 2: deployments: 4104 ranks are too many; give fewer engines or cards, at most 4096 together")
	f(in(`"engines": 4096`)[:len(in(`"engines": 4096`))-4]+",\n{\"name\": \"b\"}]}", "line 2: deployments: 4097 engines are too many; give at most 4096")
}

// Whatever a file has in it, reading it gives a scenario that can be run or an error.
func FuzzReadScenario(f *testing.F) {
	for _, name := range BuiltinNames() {
		text, err := scenarios.ReadFile("scenarios/" + name + ".json")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"deployments": [{"graphs": [], "moe": {"cards": 0}, "scheduler": {"nextn": 0}, "draft": {"accept": []}}]}`))
	f.Add([]byte(`{"deployments": [{"requests": {"rate": 1e-9}, "faults": ["hang@0=1s", "port-taken"]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := ReadScenario(text)
		if err != nil {
			return
		}
		for _, d := range s.Deployments {
			if d.KV.Blocks > 1<<16 || d.Requests.Rate > 100 {
				continue // sound, but slow
			}
			e := newTestEngine(t, d, 1)
			for range 20 {
				if err := e.Step(); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// What a file leaves out keeps its default, beside what it says.
func TestScenarioDefaults(t *testing.T) {
	s, err := ReadScenario([]byte(`{"deployments": [{"name": "a", "kv": {"blocks": 99}, "graphs": [], "draft": {"accept": [0.5]},
		"faults": ["hang@5=1m", "crash"]}, {}]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultDeployment()
	if !reflect.DeepEqual(s.Deployments[1], want) {
		t.Errorf("an empty deployment is %+v", s.Deployments[1])
	}
	want.Name, want.KV.Blocks, want.Graphs, want.Draft.Accept = "a", 99, []int{}, []float64{0.5}
	want.Faults = []Fault{{Kind: "hang", Step: 5, For: 60e9}, {Kind: "crash"}}
	if !reflect.DeepEqual(s.Deployments[0], want) {
		t.Errorf("\n got %+v\nwant %+v", s.Deployments[0], want)
	}
}

func TestBuiltin(t *testing.T) {
	want := "drifting-draft graph-misses healthy kv-starved moe-imbalanced nccl-growth prompt-decode"
	if got := strings.Join(BuiltinNames(), " "); got != want {
		t.Errorf("built-in scenarios %s, want %s", got, want)
	}
	for _, name := range BuiltinNames() {
		s, err := Builtin(name)
		if err != nil {
			t.Error(err)
		} else if s.Name != name || s.About == "" {
			t.Errorf("%s calls itself %q, %q", name, s.Name, s.About)
		}
	}
	if _, err := Builtin("sick"); err == nil || !strings.Contains(err.Error(), "the built-in ones are drifting-draft, ") {
		t.Errorf("error %v", err)
	}
}

func TestFaultTexts(t *testing.T) {
	good := func(text string, want Fault) {
		t.Helper()
		var f Fault
		if err := f.UnmarshalText([]byte(text)); err != nil || f != want || f.String() != text {
			t.Errorf("%s: %+v, %s, error %v", text, f, f, err)
		}
	}
	good("hang@500=1m0s", Fault{"hang", 500, 60e9})
	good("hang@0=1ns", Fault{"hang", 0, 1})
	good("clock-jump@7=-1h0m0s", Fault{"clock-jump", 7, -3600e9})
	good("rotate@3", Fault{"rotate", 3, 0})
	good("truncate@3", Fault{"truncate", 3, 0})
	good("slow-export=20s", Fault{"slow-export", 0, 20e9})
	good("slow-export@9=20s", Fault{"slow-export", 9, 20e9})
	good("refuse", Fault{"refuse", 0, 0})
	good("crash@9", Fault{"crash", 9, 0})
	good("port-taken", Fault{"port-taken", 0, 0})

	bad := func(text, want string) {
		t.Helper()
		var f Fault
		if err := f.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, error %v; want one with %q", text, f, err, want)
		}
	}
	bad("", "there is no such fault; the faults are hang, clock-jump, ")
	bad("sleep@5=1s", "there is no such fault")
	bad("hang=1s", "at which step? give hang@STEP")
	bad("hang@5", "how long? give hang@5=DURATION")
	bad("hang@-5=1s", "not a step")
	bad("hang@x=1s", "not a step")
	bad("hang@5=1", "not a duration")
	bad("hang@5=-1s", "must not be negative")
	bad("clock-jump@5=-25h", "give at most 24h0m0s")
	bad("refuse=1s", "has no duration; leave =1s out")
	bad("port-taken@1", "has no step; leave @1 out")
}

// Every key that a scenario may have stands in its description, as do the scenarios and the faults.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "engine.md"))
	if err != nil {
		t.Fatal(err)
	}
	doc := string(text)
	missing := func(word string) {
		if !strings.Contains(doc, word) {
			t.Errorf("docs/engine.md does not have %s", word)
		}
	}
	var walk func(typ reflect.Type, path string)
	walk = func(typ reflect.Type, path string) {
		switch typ {
		case reflect.TypeFor[Dist](), reflect.TypeFor[Ramp](), reflect.TypeFor[Prefix](), reflect.TypeFor[Group]():
			for i := range typ.NumField() {
				missing(typ.Field(i).Tag.Get("json"))
			}
			path = strings.TrimSuffix(path, ".")
			missing("`" + path + "`")
			return
		case reflect.TypeFor[Fault]():
			return
		}
		for i := range typ.NumField() {
			f := typ.Field(i)
			name := path + f.Tag.Get("json")
			for f.Type.Kind() == reflect.Slice {
				f.Type = f.Type.Elem()
			}
			if f.Type.Kind() == reflect.Struct && f.Type != reflect.TypeFor[Fault]() {
				walk(f.Type, name+".")
			} else {
				missing("`" + name + "`")
			}
		}
	}
	walk(reflect.TypeFor[Deployment](), "")
	for _, name := range BuiltinNames() {
		missing("| `" + name + "` |")
	}
	for _, f := range faultForms {
		missing("| `" + f.kind)
	}
}
