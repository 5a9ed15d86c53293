package ledger

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The whole table decides each question, in both languages, as the engine's own part does.
func TestWholeTableIsComplete(t *testing.T) {
	han := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Han, r) })
	}
	seen := map[string]bool{}
	for _, m := range All() {
		if seen[m.Key] {
			t.Errorf("%s stands in the table twice", m.Key)
		}
		seen[m.Key] = true
		words := reflect.ValueOf(m)
		for i := range words.NumField() {
			w, ok := words.Field(i).Interface().(Words)
			if !ok {
				continue
			}
			field := words.Type().Field(i).Name
			optional := field == "Denominator" || field == "Label"
			if (w.EN == "") != (w.ZH == "") || w.EN == "" && !optional || han(w.EN) || w.ZH != "" && !han(w.ZH) {
				t.Errorf("%s: %s is %+v", m.Key, field, w)
			}
		}
		if !slices.Contains(Groups(), m.Group) || m.Unit == "" || m.Better == "" || m.Kind == "" || m.Steps == "" || m.Section == "" || len(m.Engines.Kinds()) == 0 {
			t.Errorf("%s: something is undecided: %+v", m.Key, m)
		}
		if by := m.Aggregate.By; by != "" {
			if w, ok := Lookup(by); !ok || w.Aggregate.Op != Sum || m.Aggregate.Op != WeightedMean {
				t.Errorf("%s: weight %q", m.Key, by)
			}
		}
		if (m.Kind == Counter || m.Kind == Histogram) && m.Aggregate.Op != Sum {
			t.Errorf("%s: a %s that is not summed", m.Key, m.Kind)
		}
		if (m.Kind == Histogram) != (m.Counted != "") {
			t.Errorf("%s: counts %q as a %s", m.Key, m.Counted, m.Kind)
		}
		if (m.Unit == Share || m.Aggregate.Op == WeightedMean) && m.Denominator.EN == "" {
			t.Errorf("%s has no denominator", m.Key)
		}
		if got, ok := Lookup(m.Key); !ok || got.Key != m.Key {
			t.Errorf("%s: looked up as %q", m.Key, got.Key)
		}
	}
	for _, m := range Metrics() {
		if !seen[m.Key] {
			t.Errorf("%s of the engine's own lines is not in the whole table", m.Key)
		}
		if !m.Engines.Has("deepinfer") {
			t.Errorf("%s: the engine's own metric is of %v", m.Key, m.Engines.Kinds())
		}
	}
	for key := range alsoIn {
		if _, ok := own(key); !ok {
			t.Errorf("%s is shared with other engines, but not in the engine's own table", key)
		}
	}
}

func TestHistogramParts(t *testing.T) {
	bucket, ok := Lookup("TTFT_bucket")
	if !ok || bucket.Kind != Gauge || bucket.Unit != Requests || bucket.Label.EN == "" || bucket.Aggregate.Op != Sum {
		t.Errorf("TTFT_bucket: %v %+v", ok, bucket)
	}
	sum, ok := Lookup("TTFT_sum")
	if !ok || sum.Unit != Seconds || sum.Label.EN != "" {
		t.Errorf("TTFT_sum: %v %+v", ok, sum)
	}
	for _, key := range []string{"running_bucket", "TTFT_mean_count", "_bucket", "no_such_sum"} {
		if m, ok := Lookup(key); ok {
			t.Errorf("%s is found as %s", key, m.Key)
		}
	}
}

func TestRelations(t *testing.T) {
	for _, r := range Relations() {
		for _, key := range []string{r.A, r.B} {
			if m, ok := Lookup(key); !ok || m.Key != key {
				t.Errorf("%s – %s: no metric %s", r.A, r.B, key)
			}
		}
		if r.A == r.B || r.Why.EN == "" || r.Why.ZH == "" || r.Verdict == "" {
			t.Errorf("undecided: %+v", r)
		}
		if back, ok := Related(r.B, r.A); !ok || back != r {
			t.Errorf("%s – %s is %+v the other way round", r.A, r.B, back)
		}
	}
	if r, ok := Related("TPOT_bucket", "ITL_bucket"); !ok || r.Verdict != Refused {
		t.Errorf("parts of TPOT and ITL: %v %+v", ok, r)
	}
	if r, ok := Related("running", "pending"); ok {
		t.Errorf("running and pending are related: %+v", r)
	}
}

func TestEngines(t *testing.T) {
	e := OfVLLM | OfGPU
	if !e.Has("vllm") || !e.Has("gpu") || e.Has("sglang") || e.Has("") {
		t.Errorf("%b", e)
	}
	if got := e.Kinds(); !slices.Equal(got, []string{"vllm", "gpu"}) {
		t.Errorf("kinds %v", got)
	}
}

// A name of another engine's table in a line of ours is an unknown field, kept with its
// unit as written.
func TestForeignNameInOwnLine(t *testing.T) {
	got := Parse(nil, []byte("RANK 0, GPU 0, step 100, [stats] ( running 3 | gpu_power 700W )"))
	if len(got) != 1 || got[0].Err != nil {
		t.Fatalf("%+v", got)
	}
	for _, v := range got[0].Line.Values {
		if v.Key == "gpu_power" && (v.V != 700 || v.Unit != "W") {
			t.Errorf("%+v", v)
		}
	}
	if _, ok := got[0].Line.Value("gpu_power", ""); !ok {
		t.Error("the field is lost")
	}
}
