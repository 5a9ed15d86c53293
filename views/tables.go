package views

import "github.com/stepscope/stepscope/views/i18n"

// Column describes one column of a table the browser fills: what its cells
// hold, and under which key the row's object has it. Label and definition come
// from the catalogue, so that no figure stands without its meaning.
type Column struct {
	Key  string // key in the row, and data-key of the cell
	Type string // ns, int, milli, ppm, text, tag, hist, bytes, delta, rel, open: how the script prints it
	Sort string // "ascending" or "descending" for the column a table starts sorted by
	Unit string // columns of one name here share the unit of their times, to be compared by eye
}

// Table is one table of the trace page.
type Table struct {
	ID      string
	Columns []Column
}

// cols is a Table literal without the noise of its field names.
func cols(id string, columns ...Column) Table { return Table{ID: id, Columns: columns} }

// The tables of the trace page, in its order. Keys follow the trace summary.
var (
	Phases = cols("phases",
		Column{Key: "name", Type: "name"}, Column{Key: "thread", Type: "text"}, Column{Key: "count", Type: "int"},
		Column{Key: "total_ns", Type: "ns", Sort: "descending"}, Column{Key: "self_ns", Type: "ns"},
		Column{Key: "mean_ns", Type: "ns"}, Column{Key: "p50_ns", Type: "ns"}, Column{Key: "p95_ns", Type: "ns"},
		Column{Key: "p99_ns", Type: "ns"}, Column{Key: "max_ns", Type: "ns"},
		Column{Key: "share_ppm", Type: "ppm"}, Column{Key: "hist", Type: "hist"})
	Shapes = cols("shapes",
		Column{Key: "name", Type: "name"}, Column{Key: "kind", Type: "tag"}, Column{Key: "n", Type: "int"},
		Column{Key: "b", Type: "int"}, Column{Key: "b_per_n", Type: "milli"}, Column{Key: "count", Type: "int"},
		Column{Key: "cpu_mean_ns", Type: "ns"}, Column{Key: "cpu_max_ns", Type: "ns"},
		Column{Key: "cpu_total_ns", Type: "ns", Sort: "descending"},
		Column{Key: "gpu_span_mean_ns", Type: "ns"}, Column{Key: "gpu_busy_mean_ns", Type: "ns"},
		Column{Key: "kernels_mean", Type: "milli"}, Column{Key: "graph", Type: "tag"},
		Column{Key: "replays", Type: "int"}, Column{Key: "misses", Type: "int"}, Column{Key: "partials", Type: "int"})
	Steps = cols("steps",
		Column{Key: "index", Type: "int", Sort: "ascending"}, Column{Key: "kind", Type: "tag"}, Column{Key: "name", Type: "name"},
		Column{Key: "n", Type: "int"}, Column{Key: "b", Type: "int"}, Column{Key: "start_ns", Type: "ns"},
		Column{Key: "dur_ns", Type: "ns"}, Column{Key: "cpu_ns", Type: "ns"}, Column{Key: "compute_ns", Type: "ns"},
		Column{Key: "exposed_comm_ns", Type: "ns"}, Column{Key: "copy_ns", Type: "ns"}, Column{Key: "idle_ns", Type: "ns"},
		Column{Key: "busy_ns", Type: "ns"}, Column{Key: "span_ns", Type: "ns"},
		Column{Key: "kernels", Type: "int"}, Column{Key: "graph", Type: "tag"})
	GPU = cols("gpu",
		Column{Key: "name", Type: "name", Sort: "ascending"}, Column{Key: "kernels", Type: "int"},
		Column{Key: "busy_ns", Type: "ns"}, Column{Key: "busy_ppm", Type: "ppm"}, Column{Key: "sum_ns", Type: "ns"},
		Column{Key: "compute_ns", Type: "ns"}, Column{Key: "comm_ns", Type: "ns"},
		Column{Key: "custom_comm_ns", Type: "ns"}, Column{Key: "exposed_comm_ns", Type: "ns"},
		Column{Key: "copy_ns", Type: "ns"}, Column{Key: "idle_ns", Type: "ns"},
		Column{Key: "graph_kernels", Type: "int"}, Column{Key: "streams", Type: "int"})
	Collectives = cols("collectives",
		Column{Key: "name", Type: "name"}, Column{Key: "library", Type: "tag"}, Column{Key: "count", Type: "int"},
		Column{Key: "total_ns", Type: "ns", Sort: "descending"}, Column{Key: "mean_ns", Type: "ns"}, Column{Key: "max_ns", Type: "ns"},
		Column{Key: "share_ppm", Type: "ppm"}, Column{Key: "group_size", Type: "int"}, Column{Key: "ranks_partial", Type: "text"})
	Kernels = cols("kernels",
		Column{Key: "class", Type: "tag"}, Column{Key: "name", Type: "name"}, Column{Key: "count", Type: "int"},
		Column{Key: "total_ns", Type: "ns", Sort: "descending"}, Column{Key: "share_ppm", Type: "ppm"},
		Column{Key: "mean_ns", Type: "ns"}, Column{Key: "max_ns", Type: "ns"}, Column{Key: "graph_count", Type: "int"})
	Categories = cols("categories",
		Column{Key: "name", Type: "name"}, Column{Key: "count", Type: "int"}, Column{Key: "total_ns", Type: "ns", Sort: "descending"})
	Repairs = cols("repairs",
		Column{Key: "code", Type: "text"}, Column{Key: "message", Type: "text"},
		Column{Key: "count", Type: "int"}, Column{Key: "offset", Type: "int"})
)

// Tables lists all of them.
var Tables = []Table{Phases, Shapes, Steps, GPU, Collectives, Kernels, Categories, Repairs}

// Label is the header of a column.
func (t Table) Label(l i18n.Lang, c Column) string { return own(l, "col", t.ID, c.Key) }

// Def is the definition of a column's figure.
func (t Table) Def(l i18n.Lang, c Column) string { return own(l, "def", t.ID, c.Key) }

// own looks up the table's own text for a column, else the one all tables share.
func own(l i18n.Lang, kind, table, key string) string {
	if k := kind + "." + table + "." + key; i18n.Has(k) {
		return l.T(k)
	}
	return l.T(kind + "." + key)
}

// cellClass is the class of a cell by its column's type: numbers are set in
// tabular figures and right-aligned.
func cellClass(typ string) string {
	switch typ {
	case "name", "text", "tag":
		return typ
	case "ppm":
		return "num share"
	case "hist", "open":
		return typ
	case "delta":
		return "num delta"
	}
	return "num"
}
