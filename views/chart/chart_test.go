package chart

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/views/i18n"
)

func TestSkeletonsArePlainStableData(t *testing.T) {
	charts := map[string]func(i18n.Lang) Options{"steps": Steps, "shapes": Shapes}
	wantIDs := map[string]string{"steps": "compute comm copy idle", "shapes": "replay miss partial none"}
	for name, build := range charts {
		for _, lang := range i18n.Langs {
			first, err := json.Marshal(build(lang))
			if err != nil {
				t.Fatalf("%s %s: %v", name, lang, err)
			}
			for range 20 {
				again, err := json.Marshal(build(lang))
				if err != nil || !bytes.Equal(first, again) {
					t.Fatalf("%s %s: not the same bytes twice (err %v):\n%s\n%s", name, lang, err, first, again)
				}
			}
			// go-echarts marks functions in strings like this.
			for _, mark := range []string{"function", "=>", "__f__", "FuncOpts"} {
				if bytes.Contains(first, []byte(mark)) {
					t.Errorf("%s %s: options hold a function (%q): %s", name, lang, mark, first)
				}
			}
			var got struct {
				Animation any
				XAxis     []struct{ Name string }
				YAxis     []struct{ Name string }
				Series    []struct {
					ID, Name, Type, Stack string
					Data                  []any
				}
			}
			if err := json.Unmarshal(first, &got); err != nil {
				t.Fatal(err)
			}
			var ids []string
			for _, s := range got.Series {
				ids = append(ids, s.ID)
				if s.Name == "" || s.Data == nil || len(s.Data) != 0 {
					t.Errorf("%s %s: series %q has name %q, data %v; want a name and []", name, lang, s.ID, s.Name, s.Data)
				}
			}
			if strings.Join(ids, " ") != wantIDs[name] {
				t.Errorf("%s: series ids %q, want %q", name, ids, wantIDs[name])
			}
			if len(got.XAxis) != 1 || got.XAxis[0].Name == "" || len(got.YAxis) != 1 || !strings.Contains(got.YAxis[0].Name, "(ms)") {
				t.Errorf("%s %s: axes without titles or unit: %+v %+v", name, lang, got.XAxis, got.YAxis)
			}
			if got.Animation != false {
				t.Errorf("%s: animation is %v: charts don't move", name, got.Animation)
			}
		}
	}
}

func TestMultiplesShareOnePointer(t *testing.T) {
	for _, lang := range i18n.Langs {
		first, err := json.Marshal(Multiples(lang))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := json.Marshal(Multiples(lang)); err != nil || !bytes.Equal(first, again) {
			t.Errorf("%s: not the same bytes twice: %v", lang, err)
		}
		var got struct {
			AxisPointer struct{ Link []struct{ XAxisIndex string } }
			XAxis       []struct{ Type string }
			YAxis       []struct{ Type string }
			Grid        struct{ Left, Right, Top, Bottom int }
		}
		if err := json.Unmarshal(first, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.AxisPointer.Link) != 1 || got.AxisPointer.Link[0].XAxisIndex != "all" {
			t.Errorf("%s: the pointer is not one over all columns: %s", lang, first)
		}
		if len(got.XAxis) != 1 || len(got.YAxis) != 1 || got.Grid.Left <= 0 || got.Grid.Top <= 0 {
			t.Errorf("%s: the script needs one axis of each kind and the space around a plot: %s", lang, first)
		}
		for _, mark := range []string{"function", "=>", "__f__"} {
			if bytes.Contains(first, []byte(mark)) {
				t.Errorf("%s: options hold a function (%q)", lang, mark)
			}
		}
	}
}

// One meaning has one colour, in charts and in the style sheet.
func TestColoursAgreeWithTheStyleSheet(t *testing.T) {
	css, err := os.ReadFile("../../web/static/css/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	for name, colour := range map[string]string{
		"compute": ColorCompute, "comm": ColorComm, "copy": ColorCopy, "idle": ColorIdle,
		"replay": ColorReplay, "miss": ColorMiss,
	} {
		if want := "--series-" + name + ": " + colour + ";"; !bytes.Contains(css, []byte(want)) {
			t.Errorf("tokens.css has no %q", want)
		}
	}
}
