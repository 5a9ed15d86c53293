package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/stepscope/stepscope/engine/sim/kineto"
)

// wanted is what the library writes for the flags of these tests.
func wanted(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := kineto.Generate(&b, kineto.Options{Steps: 1, Seed: 7}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func entries(t *testing.T) []string {
	t.Helper()
	list, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestGenerate(t *testing.T) {
	name := kineto.Options{Steps: 1, Seed: 7}.FileName()
	unzip := func(b []byte) []byte {
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		b, err = io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	want := wanted(t)
	tests := []struct {
		about string
		cmd   GenerateCmd
		file  string // empty: standard output
		gzip  bool
	}{
		{"default name", GenerateCmd{}, name, false},
		{"default name, gzip", GenerateCmd{Gzip: true}, name + ".gz", true},
		{"named", GenerateCmd{Output: "a.json"}, "a.json", false},
		{"standard output", GenerateCmd{Output: "-"}, "", false},
		{"standard output, gzip", GenerateCmd{Output: "-", Gzip: true}, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.about, func(t *testing.T) {
			t.Chdir(t.TempDir())
			tt.cmd.Steps, tt.cmd.Seed = 1, 7
			var out, log bytes.Buffer
			if err := tt.cmd.Run(context.Background(), &IO{Out: &out, Err: &log}); err != nil {
				t.Fatal(err)
			}
			got := out.Bytes()
			if tt.file != "" {
				var err error
				if got, err = os.ReadFile(tt.file); err != nil {
					t.Fatal(err)
				}
				if names := entries(t); len(names) != 1 {
					t.Errorf("files: %q, want only %q", names, tt.file)
				}
			}
			if tt.gzip {
				got = unzip(got)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("got %d bytes that are not the %d of the library", len(got), len(want))
			}
		})
	}
}

func TestGenerateTruth(t *testing.T) {
	t.Chdir(t.TempDir())
	cmd := GenerateCmd{Steps: 2, Seed: 1, Idle: 1, Output: "a.json", Truth: "truth.json"}
	if err := cmd.Run(context.Background(), &IO{Out: io.Discard, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("truth.json")
	if err != nil {
		t.Fatal(err)
	}
	var truth kineto.Truth
	if err := json.Unmarshal(b, &truth); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat("a.json")
	if err != nil {
		t.Fatal(err)
	}
	if truth.Bytes != info.Size() || truth.StepCount != 2 || len(truth.Steps) != 2 {
		t.Errorf("truth: %d bytes, %d steps; the file has %d bytes, 2 steps", truth.Bytes, truth.StepCount, info.Size())
	}
}

func TestGenerateKeepsFiles(t *testing.T) {
	for _, cmd := range []GenerateCmd{{Output: "there"}, {Output: "new.json", Truth: "there"}} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile("there", []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd.Steps = 1
		err := cmd.Run(context.Background(), &IO{Out: io.Discard, Err: io.Discard})
		if err == nil || !strings.Contains(err.Error(), "--force") {
			t.Fatalf("%+v: error %v, want one that names --force", cmd, err)
		}
		if names := entries(t); len(names) != 1 {
			t.Errorf("%+v: files %q beside the one that was there", cmd, names)
		}
		cmd.Force = true
		if err := cmd.Run(context.Background(), &IO{Out: io.Discard, Err: io.Discard}); err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile("there"); string(b) == "mine" {
			t.Errorf("%+v: --force did not replace the file", cmd)
		}
	}
}

func TestGenerateInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cmd := GenerateCmd{Steps: 1_000_000, Output: "a.json"}
	if err := cmd.Run(ctx, &IO{Out: io.Discard, Err: io.Discard}); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want context.Canceled", err)
	}
	if names := entries(t); len(names) != 0 {
		t.Errorf("files left behind: %q", names)
	}
}

func TestGenerateValidate(t *testing.T) {
	tests := []struct {
		cmd  GenerateCmd
		want string
	}{
		{GenerateCmd{Steps: 20}, ""},
		{GenerateCmd{Steps: 0}, "steps"},
		{GenerateCmd{Steps: 3, Idle: 4}, "give 0 to 3"},
		{GenerateCmd{Steps: 3, Output: "-", Truth: "-"}, "standard output"},
	}
	for _, tt := range tests {
		err := tt.cmd.Validate()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want %q", tt.cmd, err, tt.want)
		}
	}
}
