package trace

// class is what a category means to the analysis.
type class uint8

const (
	clsOther class = iota
	clsAnnotation
	clsGPUAnnotation
	clsRuntime
	clsKernel
	clsMemcpy
	clsMemset
	clsDevice // work of an accelerator that is not a kernel by its category
	clsTrace  // the profiler's own span: not work
	clsOverhead
)

// classOf maps a category's name to its class. Old files spell some of them differently
// ("Kernel", "Memcpy", "Runtime"), so case and the gpu_ prefix do not count.
func classOf(cat string) class {
	switch l := lowered(cat); l {
	case "kernel":
		return clsKernel
	case "gpu_memcpy", "memcpy":
		return clsMemcpy
	case "gpu_memset", "memset":
		return clsMemset
	case "user_annotation":
		return clsAnnotation
	case "gpu_user_annotation":
		return clsGPUAnnotation
	case "trace":
		return clsTrace
	case "overhead":
		return clsOverhead
	case "runtime", "driver":
		return clsRuntime
	default:
		switch {
		case hasSuffix(l, "_runtime"), hasSuffix(l, "_driver"):
			return clsRuntime
		case hasSuffix(l, "_ccp_events"):
			return clsDevice
		}
	}
	return clsOther
}

// knownCategories have a place in the table from the start.
var knownCategories = [...]string{"", "kernel", "Kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset", "user_annotation",
	"gpu_user_annotation", "Trace", "cuda_runtime", "cuda_driver", "Runtime", "overhead", "cpu_op", "python_function"}

func hasSuffix(s, suf string) bool { return len(s) >= len(suf) && s[len(s)-len(suf):] == suf }

func lowered(s string) string {
	b := []byte(s)
	for i, c := range b {
		b[i] = lower(c)
	}
	return string(b)
}

// category counts the slices of one category.
type category struct {
	name  nameID
	class class
	count int64
	total int64 // ns, saturating
}

// categories is the table of the categories met, found by the name's id.
type categories struct {
	list []category
	of   []uint16 // by nameID: index + 1
}

// maxCategories caps the table; the rest share the last entry.
const maxCategories = 4096

func (c *categories) index(n *names, id nameID) uint16 {
	if int(id) < len(c.of) && c.of[id] != 0 {
		return c.of[id] - 1
	}
	return c.add(n, id)
}

func (c *categories) add(n *names, id nameID) uint16 {
	if len(c.list) >= maxCategories {
		return maxCategories - 1
	}
	for int(id) >= len(c.of) {
		c.of = append(c.of, make([]uint16, int(id)+64-len(c.of))...)
	}
	c.list = append(c.list, category{name: id, class: classOf(n.str(id))})
	c.of[id] = uint16(len(c.list))
	return uint16(len(c.list) - 1)
}

// satAdd adds two non-negative durations and stays at the largest int64 instead of wrapping.
func satAdd(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}
