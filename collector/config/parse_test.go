package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stepscope/stepscope/collector/capture"
	"github.com/stepscope/stepscope/collector/tail"
)

const full = `# Everything that can be said.
collector: node7
deployments:
  - name: prod-a
    model: some-model
    parallel: cp2 dp4
    role: mixed
    host: node7
    host_in_names: true
    gpu_count: 16
    peak_tflops: 989.5
    logs:
      - paths: [/var/log/a/*.log, /var/log/b.log]
        zone: Asia/Shanghai
        start: end
      - /var/log/c.log
    profile:
      - addresses: 127.0.0.1:6070-6072
        output_dir: /data/traces
        paths:
          - engine: /data/traces
            local: /mnt/node7
        remove: true
      - 10.0.0.9:6070
    gpu: true
    schedule:
      every: 1h
      steps: 10
      only_when_loaded: true
  - name: prod-v
    metrics:
      - kind: vllm
        addresses: [10.0.0.7:8000, "http://10.0.0.8:8000"]
        every: 2s
        traces: {output_dir: /tmp/v, paths: [/tmp/v]}
`

func TestParse(t *testing.T) {
	got, err := Parse([]byte(full))
	if err != nil {
		t.Fatal(err)
	}
	want := &Config{Name: "node7", Deployments: []Deployment{
		{
			Name: "prod-a", Model: "some-model", Parallel: "cp2 dp4", Role: "mixed", Host: "node7", HostInNames: true, GPUs: 16, PeakTFLOPs: 989.5,
			Logs: []Log{
				{Paths: []string{"/var/log/a/*.log", "/var/log/b.log"}, Zone: "Asia/Shanghai", Start: tail.AtEnd},
				{Paths: []string{"/var/log/c.log"}},
			},
			Profile: []Profile{{
				Addresses: []string{"127.0.0.1:6070", "127.0.0.1:6071", "127.0.0.1:6072"}, PortBase: 6070,
				Traces: Traces{OutputDir: "/data/traces", Paths: capture.Paths{{Engine: "/data/traces", Local: "/mnt/node7"}}, Remove: true},
			}, {Addresses: []string{"10.0.0.9:6070"}, PortBase: 6070}},
			GPU:      &GPU{Every: 5 * time.Second},
			Schedule: []capture.Schedule{{Deployment: "prod-a", Every: time.Hour, Steps: 10, OnlyWhenLoaded: true}},
		},
		{
			Name: "prod-v",
			Metrics: []Metrics{{
				Kind: "vllm", Addresses: []string{"10.0.0.7:8000", "http://10.0.0.8:8000"}, Every: 2 * time.Second,
				Traces: &Traces{OutputDir: "/tmp/v", Paths: capture.Paths{{Engine: "/tmp/v"}}},
			}},
		},
	}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

// Each fault is told with its line.
func TestParseFaults(t *testing.T) {
	f := func(text string, want ...string) {
		t.Helper()
		c, err := Parse([]byte(text))
		if err == nil {
			t.Errorf("%q was accepted: %+v", text, c)
			return
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%q: error\n%v\nlacks %q", text, err, w)
			}
		}
	}
	const one = "deployments:\n- name: a\n"
	f("", "line 1", "empty")
	f("deployments: []\n", "line 1", "no deployments")
	f("deployments: 3\n", "line 1", "should be a list", `"3"`)
	f("- a\n", "line 1", "keys with values, not a list")
	f("deployments:\n- name: a\n  logs: [\n", "line 3", "not YAML")
	f("deployments:\n- name: a\n  name: b\n", "line 3")
	f(one+"  color: red\n", "line 3", `deployment "a" has no key "color"`, "name, model")
	f(one+"- name: a\n", "line 3", `deployment "a" was described at line 2 already`)
	f("deployments:\n- model: x\n", "line 2", "needs a name")
	f("deployments:\n- name: ' '\n", "line 2", "deployment")
	f(one+"  role: big\n", "line 3", "one of mixed, prompt, decode", `"big"`)
	f(one+"  gpu_count: 1.5\n", "line 3", "whole number from 1 to 1000000", `"1.5"`)
	f(one+"  gpu_count: '8'\n", "line 3", "whole number")
	f(one+"  peak_tflops: 989,5\n", "line 3", "number from 1 to 100000", `"989,5"`)
	f(one+"  peak_tflops: .inf\n  gpu_count: 0\n", "line 3", "number from 1", "line 4", "whole number")
	f(one+"  host_in_names: perhaps\n", "line 3", "true or false")
	f(one+"  host_in_names: true\n  logs: /x.log\n", "line 3", "needs to know the host")
	f(one+"  logs:\n  - paths: '/x/[.log'\n", "line 4", "pattern")
	f(one+"  logs:\n  - paths: [/x.log]\n    zone: Mars/Olympus\n", "line 5", "no zone", "Asia/Shanghai")
	f(one+"  logs:\n  - paths: [/x.log]\n    start: middle\n", "line 5", "beginning, end, rotated")
	f(one+"  logs:\n  - zone: UTC\n", "line 4", "needs paths")
	f(one+"  logs:\n  - /x.log\n  - /x.log\n", "line 5", "log /x.log is a target at line 4 already")
	f(one+"  logs: [{paths: ['-', /x.log]}]\n  profile:\n    addresses: 1.2.3.4\n", "line 3", "a log of its own", "line 5", "host:port")
	f(one+"  profile: {addresses: 'h:6077-6070'}\n", "line 3", "ends before it begins")
	f(one+"  profile: {addresses: 'h:1-2000'}\n", "line 3", "more than 1024")
	f(one+"  profile: {addresses: 'h:0'}\n", "line 3", "no port")
	f(one+"  profile: {addresses: ['h:6070-6072', 'h:6071']}\n", "line 3", "address h:6071 is a target at line 3 already")
	f(one+"  profile: {addresses: 'http://h:1'}\n", "line 3", "host:port")
	f(one+"  profile: {addresses: 'h:1', paths: relative}\n", "line 3", "not absolute")
	f(one+"  profile: {addresses: 'h:1', output_dir: /etc, paths: [/data/traces, /tmp]}\n", "line 3", `output_dir "/etc": not below a folder`, "/data/traces, /tmp")
	f(one+"  profile: {addresses: 'h:1', output_dir: /x/../etc/traces}\n", "line 3", "a folder of the system", "name it under paths")
	f(one+"  profile: {addresses: 'h:1', output_dir: traces}\n", "line 3", "not an absolute path")
	f(one+"  profile: {addresses: 'h:1', output_dir: //}\n", "line 3", "a folder of their own")
	f(one+"  metrics: {addresses: 'h:1', kind: triton}\n", "line 3", "vllm, sglang, tensorrt-llm")
	f(one+"  metrics: {addresses: 'h:1', every: 1ms}\n", "line 3", "100ms")
	f(one+"  metrics: {addresses: 'http://u:p@h:1/x'}\n", "line 3", "host and port only")
	f(one+"  schedule: {steps: 100}\n", "line 3", "needs every", "from 1 to 50")
	f(one+"  gpu: maybe\n", "line 3", "gpu: give true, false, or keys", `"maybe"`)
	f(one+"  gpu: {every: never}\n", "line 3", "from 1s")
	f(one+"  model: &x y\n", "line 3", "not supported")
	f("---\n"+one+"---\n"+one, "second document")
	f(strings.Repeat("[", 1000), "nested too deeply")
	f(one+"  metrics: {addresses: 'h:1', token_file: /no/such/file}\n", "line 3", "no such file")
}

// Where nobody gives it, GPU 0's port is the usual one, unless the ports are quite others.
func TestPortBase(t *testing.T) {
	for addresses, want := range map[string]int{ // of the last block
		"'h:6074-6077'":             6070, // GPUs 4 to 7
		"127.0.0.1:18270-18271":     18270,
		"['a:7003-7004', 'b:7001']": 7001,
		"['b:7001', 'a:7003-7004']": 7001,
		"['a:7003', {addresses: 'b:7001', port_base: 7000}, 'a:7004']": 7003,
		"['h:6071', 'h:18270']":            6070,
		"h:6133":                           6070, // GPU 63
		"h:6134":                           6134,
		"{addresses: 'h:7', port_base: 5}": 5,
	} {
		c, err := Parse([]byte("deployments:\n- name: a\n  profile: " + addresses + "\n"))
		if err != nil {
			t.Fatalf("%s: %v", addresses, err)
		}
		list := c.Deployments[0].Profile
		if got := list[len(list)-1].PortBase; got != want {
			t.Errorf("%s: port base %d, want %d", addresses, got, want)
		}
	}
}

func TestFileChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.yaml")
	var file *File
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := func(changed bool, name, failure string) {
		t.Helper()
		c, got, err := file.Changed()
		if got != changed || (err != nil) != (failure != "") || err != nil && !strings.Contains(err.Error(), failure) {
			t.Fatalf("changed %v, error %v; want %v, %q", got, err, changed, failure)
		}
		if name != "" && c.Deployments[0].Name != name {
			t.Fatalf("deployment %q, want %q", c.Deployments[0].Name, name)
		}
	}
	write("deployments: [{name: a}]\n")
	file = NewFile(path)
	want(false, "", "")
	write("deployments: [{name: b}]\n")
	want(true, "b", "")
	want(false, "", "")
	write("deployments: [{nam: b}]\n")
	want(true, "", `c.yaml: line 1: a deployment needs a name`)
	want(false, "", "")
	write("deployments: [{name: b}]\n")
	want(true, "b", "")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	want(true, "", "no such file")
	if _, changed, err := file.Changed(); changed || err == nil {
		t.Errorf("told again: changed %v, error %v", changed, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("deployments:\n- name: a\n  logs: ['-', \"x\\u0000\"]\n  gpu: {every: 1s}\n"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Add([]byte("? - a\n: |\n  b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse(text)
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v, error %v", c, err)
		}
		if c == nil {
			return
		}
		names := map[string]bool{}
		for _, d := range c.Deployments {
			if d.Name == "" || names[d.Name] {
				t.Errorf("deployment %q twice or without a name", d.Name)
			}
			names[d.Name] = true
		}
	})
}
