package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepscope/stepscope/collector/capture"
	"github.com/stepscope/stepscope/store"
)

// Flags are a configuration of one deployment as a command line gives it.
type Flags struct {
	Deployment string
	Logs       []string // globs or "-"
	Zone       string
	Metrics    []string // addresses
	Kind       string   // of the engines with metrics
	Profile    []string // addresses of DeepInfer's profile interfaces
	OutputDir  string   // where their traces go
	GPU        bool
	GPUs       int     // cards of the whole deployment, 0 not told
	PeakTFLOPs float64 // of one card, 0 not told
}

// FromFlags checks flags and makes a configuration of them.
func FromFlags(f Flags) (*Config, error) {
	if err := store.CheckName("deployment", f.Deployment, store.MaxLabel); err != nil {
		return nil, err
	}
	if f.Zone != "" && f.Zone != "Local" {
		if _, err := time.LoadLocation(f.Zone); err != nil {
			return nil, fmt.Errorf("there is no zone %q; give an IANA name such as Asia/Shanghai, UTC or Local", f.Zone)
		}
	}
	if f.GPUs < 0 || f.GPUs > MaxGPUs || !(f.PeakTFLOPs >= 0 && f.PeakTFLOPs <= MaxPeak) {
		return nil, fmt.Errorf("%d GPUs of %g TFLOP/s: give up to %d of up to %d", f.GPUs, f.PeakTFLOPs, MaxGPUs, MaxPeak)
	}
	d := Deployment{Name: f.Deployment, GPUs: f.GPUs, PeakTFLOPs: f.PeakTFLOPs}
	var files []string
	for _, p := range f.Logs {
		if p == "-" {
			d.Logs = append(d.Logs, Log{Paths: []string{p}, Zone: f.Zone})
			continue
		}
		abs, err := filepath.Abs(p)
		if err != nil {
			return nil, err
		}
		if _, err := filepath.Match(abs, ""); err != nil {
			return nil, fmt.Errorf("pattern %q cannot match anything: %w", p, err)
		}
		files = append(files, abs)
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) > 0 {
		d.Logs = append(d.Logs, Log{Paths: files, Zone: f.Zone})
	}
	metrics, err := expandAll(f.Metrics, true)
	if err != nil {
		return nil, err
	}
	if len(metrics) > 0 {
		d.Metrics = []Metrics{{Kind: f.Kind, Addresses: metrics}}
	}
	ports, err := expandAll(f.Profile, false)
	if err != nil {
		return nil, err
	}
	if len(ports) > 0 {
		p := Profile{Addresses: ports, Zone: f.Zone, Traces: Traces{OutputDir: f.OutputDir}}
		if f.OutputDir != "" {
			p.Paths = capture.Paths{{Engine: f.OutputDir}}
			if err := fetchable(f.OutputDir, nil); err != nil {
				return nil, fmt.Errorf("output folder %w", err)
			}
		}
		d.Profile = []Profile{p}
		setPortBases(d.Profile)
	}
	if f.GPU {
		d.GPU = &GPU{Every: DefaultGPUEvery}
	}
	return &Config{Deployments: []Deployment{d}}, nil
}

func expandAll(list []string, urls bool) (out []string, _ error) {
	for _, s := range list {
		got, err := expand(s, urls)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", s, err)
		}
		out = append(out, got...)
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}
