package views

// diffColumns are what most tables of two traces have in common: a figure of
// A and of B, B − A, and that in percent of A.
func diffColumns(more ...Column) []Column {
	head := []Column{
		{Key: "name", Type: "name"},
		{Key: "a_ns", Type: "ns", Unit: "time"}, {Key: "b_ns", Type: "ns", Unit: "time"},
		{Key: "delta_ns", Type: "delta", Sort: "descending", Unit: "time"}, {Key: "rel", Type: "rel"},
	}
	return append(append(head, more...), Column{Key: "open", Type: "open"})
}

// The tables of two traces side by side. Keys follow the script's rows.
var (
	DiffKinds = cols("dkinds",
		Column{Key: "name", Type: "name"}, Column{Key: "steps", Type: "int"}, Column{Key: "n", Type: "int"},
		Column{Key: "cycle_ns", Type: "ns", Unit: "time"}, Column{Key: "cpu_ns", Type: "ns", Unit: "time"},
		Column{Key: "launches", Type: "int"}, Column{Key: "graph_kernels", Type: "int"},
		Column{Key: "graph_launch_ns", Type: "ns"},
		Column{Key: "span_ns", Type: "ns", Unit: "time"}, Column{Key: "busy_ns", Type: "ns", Unit: "time"},
		Column{Key: "idle_ns", Type: "ns"}, Column{Key: "gap_ns", Type: "ns"},
		Column{Key: "kernel_ns", Type: "ns", Unit: "time"}, Column{Key: "kernels", Type: "int"},
		Column{Key: "open", Type: "open"})
	DiffGPU    = cols("dgpu", diffColumns()...)
	DiffPhases = cols("dphases", diffColumns(
		Column{Key: "a_self_ns", Type: "ns", Unit: "self"}, Column{Key: "b_self_ns", Type: "ns", Unit: "self"},
		Column{Key: "self_ns", Type: "delta", Unit: "self"}, Column{Key: "a_count", Type: "int"},
		Column{Key: "b_count", Type: "int"})...)
	DiffShapes = cols("dshapes",
		Column{Key: "name", Type: "name"}, Column{Key: "n", Type: "int"}, Column{Key: "b", Type: "int"},
		Column{Key: "a_count", Type: "int"}, Column{Key: "b_count", Type: "int"},
		Column{Key: "a_span_ns", Type: "ns", Unit: "span"}, Column{Key: "b_span_ns", Type: "ns", Unit: "span"},
		Column{Key: "span_ns", Type: "delta", Sort: "descending", Unit: "span"}, Column{Key: "rel", Type: "rel"},
		Column{Key: "a_cpu_ns", Type: "ns", Unit: "cpu"}, Column{Key: "b_cpu_ns", Type: "ns", Unit: "cpu"},
		Column{Key: "cpu_ns", Type: "delta", Unit: "cpu"}, Column{Key: "a_kernels", Type: "milli"},
		Column{Key: "b_kernels", Type: "milli"}, Column{Key: "a_graph", Type: "tag"}, Column{Key: "b_graph", Type: "tag"},
		Column{Key: "open", Type: "open"})
	DiffKernels = cols("dkernels", diffColumns(
		Column{Key: "a_count", Type: "int"}, Column{Key: "b_count", Type: "int"},
		Column{Key: "a_mean_ns", Type: "ns", Unit: "mean"}, Column{Key: "b_mean_ns", Type: "ns", Unit: "mean"})...)
	DiffComm = cols("dcomm", diffColumns(
		Column{Key: "a_count", Type: "int"}, Column{Key: "b_count", Type: "int"},
		Column{Key: "a_mean_ns", Type: "ns", Unit: "mean"}, Column{Key: "b_mean_ns", Type: "ns", Unit: "mean"})...)
)

// DiffTables lists all of them.
var DiffTables = []Table{DiffKinds, DiffGPU, DiffPhases, DiffShapes, DiffKernels, DiffComm}
