package store

import (
	"reflect"
	"strings"
	"testing"
)

func TestToldIsBounded(t *testing.T) {
	upper := strings.ToUpper
	deep := Said{Code: "c", Text: "end"}
	for range 20 {
		deep = Said{Code: "c", Text: "t", Args: []Said{deep}}
	}
	got := Told{
		Warnings: make([]Said, 100),
		Error:    Said{Code: "many", Text: "many", Args: make([]Said, 11)},
		Hint:     Said{Code: "ok", Text: "x", Args: []Said{{Text: "y"}}},
	}.Clean(upper)
	if len(got.Warnings) != 64 {
		t.Errorf("%d warnings are kept, want 64", len(got.Warnings))
	}
	if want := (Said{Text: "MANY"}); !reflect.DeepEqual(got.Error, want) {
		t.Errorf("11 arguments: %+v, want only the text", got.Error)
	}
	if want := (Said{Code: "OK", Text: "X", Args: []Said{{Text: "Y"}}}); !reflect.DeepEqual(got.Hint, want) {
		t.Errorf("%+v, want %+v", got.Hint, want)
	}
	depth := 1
	for s := (Told{Error: deep}).Clean(upper).Error; len(s.Args) > 0; s = s.Args[0] {
		depth++
	}
	if depth != 8 {
		t.Errorf("%d deep, want 8", depth)
	}
	long := Said{Text: strings.Repeat("x", 33<<10)}
	if got := (Told{Error: long, Hint: long}).Clean(upper); !reflect.DeepEqual(got, Told{}) { // 2 × 33 KiB are over 64 KiB
		t.Error("66 KiB are kept")
	}
}
