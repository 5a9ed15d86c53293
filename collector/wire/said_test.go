package wire

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/store"
)

func TestSay(t *testing.T) {
	got := Say("call_refused", "/stop_profile", "{2}", Say("http_said", 500, store.Said{Text: "boom"}))
	want := store.Said{Code: "call_refused", Text: "/stop_profile at {2}: HTTP 500: boom", Args: []store.Said{{Text: "/stop_profile"}, {Text: "{2}"},
		{Code: "http_said", Text: "HTTP 500: boom", Args: []store.Said{{Text: "500"}, {Text: "boom"}}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := Join([]store.Said{{Text: "a"}, {Text: "b"}, {Text: "c"}}); got.Text != "a; b; c" || got.Code != "and" {
		t.Errorf("%+v", got)
	}
}

// A collector before the codes sends none, and a server before them reads over them.
func TestUpdatesWithoutCodesStayAsTheyWere(t *testing.T) {
	b, err := json.Marshal(CaptureUpdate{store.Capture{ID: 7, Error: "x"}})
	if err != nil || strings.Contains(string(b), "Told") {
		t.Errorf("%s, %v: nothing is told, but it is sent", b, err)
	}
	var u CaptureUpdate
	if err := json.Unmarshal([]byte(`{"Capture":{"ID":7,"Error":"x","Hint":"y"}}`), &u); err != nil || u.Capture.Hint != "y" || !reflect.DeepEqual(u.Capture.Told, store.Told{}) {
		t.Errorf("%+v, %v", u, err)
	}
}

// Every code in the sources has its sentence, and every sentence is used.
func TestSaidTextsAndSourcesAgree(t *testing.T) {
	quoted := regexp.MustCompile(`(?:\b(?:say|Say)\(|, |return )"([a-z_]+)"`)
	calls := regexp.MustCompile(`\b(?:say|Say)\("([a-z_]+)"`)
	used := map[string]bool{}
	for _, pattern := range []string{"../capture/*.go", "../../web/hub*.go", "said.go"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range calls.FindAllSubmatch(text, -1) {
				if _, ok := SaidTexts[string(m[1])]; !ok && m[1][len(m[1])-1] != '_' {
					t.Errorf("%s says %q, which has no text", name, m[1])
				}
			}
			for _, m := range quoted.FindAllSubmatch(text, -1) {
				used[string(m[1])] = true
			}
		}
	}
	if len(used) < 90 {
		t.Fatalf("%d codes are used: the search is broken", len(used))
	}
	for code, text := range SaidTexts {
		if text == "" || !used[code] && !strings.HasPrefix(code, "state_") {
			t.Errorf("%q is used nowhere, or has no text", code)
		}
	}
	for _, state := range []store.CaptureState{store.Queued, store.Asked, store.PickedUp, store.Captured, store.Found} {
		if SaidTexts["state_"+string(state)] == "" {
			t.Errorf("the state %q has no text", state)
		}
	}
}
