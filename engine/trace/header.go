package trace

// header is what the object around traceEvents says of the file.
type header struct {
	base       int64 // baseTimeNanoseconds
	hasBase    bool
	eventLists int64 // how many traceEvents arrays were read
	array      bool  // the file is a bare array of events
	rank       int64
	hasRank    bool
	worldSize  int64
	hasWorld   bool
	backend    headerText
	traceName  headerText
	host       headerText
	gpus       []string // one per entry of deviceProperties
	versions   []versionOf
}

// headerText is a string of the header; set tells an empty one from none.
type headerText struct {
	text string
	set  bool
}

type versionOf struct{ name, text string }

// versionKeys maps header keys to the names under which versions are shown.
var versionKeys = map[string]string{
	"cuda_runtime_version": "cuda_runtime", "cuda_driver_version": "cuda_driver", "cupti_version": "cupti",
	"hip_runtime_version": "hip_runtime", "hip_driver_version": "hip_driver", "roctracer_version": "roctracer",
	"rocprofiler_version": "rocprofiler", "vllm_version": "vllm", "sglang_version": "sglang",
	"trtllm_version": "tensorrt_llm", "tensorrt_llm_version": "tensorrt_llm", "deepinfer_version": "deepinfer",
	"pytorch_version": "pytorch", "torch_version": "pytorch", "schemaVersion": "schema",
}

// set takes the member key of the root object, whose value is b[v:end]. The last of two
// equal keys wins.
func (h *header) set(key string, b []byte, v, end int) {
	switch key {
	case "baseTimeNanoseconds":
		if n, k := parseInt(argText(b, v, end)); k == numOK {
			h.base, h.hasBase = n, true
		}
	case "traceName":
		h.traceName = headerText{string(argText(b, v, end)), true}
	case "host_name", "hostname":
		h.host = headerText{string(argText(b, v, end)), true}
	case "distributedInfo":
		h.setDistributed(b, v, end)
	case "deviceProperties":
		h.setDevices(b, v, end)
	default:
		if name, ok := versionKeys[key]; ok && b[v] != '{' && b[v] != '[' {
			h.setVersion(name, string(argText(b, v, end)))
		}
	}
}

func (h *header) setVersion(name, text string) {
	for i := range h.versions {
		if h.versions[i].name == name {
			h.versions[i].text = text
			return
		}
	}
	h.versions = append(h.versions, versionOf{name, text})
}

func (h *header) setDistributed(b []byte, v, end int) {
	if b[v] != '{' {
		return
	}
	eachArg(b, v, end, func(key []byte, v, end int) {
		switch string(key) {
		case "rank":
			if n, k := parseInt(argText(b, v, end)); k == numOK {
				h.rank, h.hasRank = n, true
			}
		case "world_size":
			if n, k := parseInt(argText(b, v, end)); k == numOK {
				h.worldSize, h.hasWorld = n, true
			}
		case "backend":
			h.backend = headerText{string(argText(b, v, end)), true}
		case "nccl_version":
			h.setVersion("nccl", string(argText(b, v, end)))
		}
	})
}

// maxGPUs caps the device list: a hostile one would be shown whole.
const maxGPUs = 1024

func (h *header) setDevices(b []byte, v, end int) {
	if b[v] != '[' {
		return
	}
	h.gpus = []string{}
	for i := v + 1; i < end && len(h.gpus) < maxGPUs; {
		i = skipSpace(b, i)
		if i >= end || b[i] != '{' {
			return
		}
		e, _, st := skipValue(b, i, end)
		if st != stOK {
			return
		}
		name := ""
		eachArg(b, i, e, func(key []byte, v, end int) {
			if string(key) == "name" {
				name = string(argText(b, v, end))
			}
		})
		h.gpus = append(h.gpus, name)
		i = skipSpace(b, e)
		if i < end && b[i] == ',' {
			i++
		}
	}
}

// join takes over what a later range found in the header: what stands later in the file
// wins, as it does for one reader.
func (h *header) join(x header) {
	if x.hasBase {
		h.base, h.hasBase = x.base, true
	}
	if x.hasRank {
		h.rank, h.hasRank = x.rank, true
	}
	if x.hasWorld {
		h.worldSize, h.hasWorld = x.worldSize, true
	}
	if x.backend.set {
		h.backend = x.backend
	}
	if x.traceName.set {
		h.traceName = x.traceName
	}
	if x.host.set {
		h.host = x.host
	}
	if x.gpus != nil {
		h.gpus = x.gpus
	}
	for _, v := range x.versions {
		h.setVersion(v.name, v.text)
	}
	h.eventLists += x.eventLists
	h.array = h.array || x.array
}

// headerKeys are keys of the root object by which a damaged header is left: the reader
// goes on at the next of them.
var headerKeys = map[string]bool{
	"traceEvents": true, "baseTimeNanoseconds": true, "displayTimeUnit": true, "deviceProperties": true,
	"traceName": true, "schemaVersion": true, "distributedInfo": true, "trace_id": true, "record_shapes": true,
	"with_stack": true, "profile_memory": true, "with_flops": true, "with_modules": true, "cupti_version": true,
	"cuda_runtime_version": true, "cuda_driver_version": true, "hip_runtime_version": true, "hip_driver_version": true,
	"roctracer_version": true, "otherData": true, "metadata": true, "stackFrames": true, "samples": true,
	"systemTraceEvents": true, "host_name": true, "username": true, "vllm_version": true,
}
