package wire

// Where a server takes the messages of collectors, and how they are marked.
// All are POST; all but hello and report name the collector as ?collector=.
const (
	HelloPath   = "/api/collectors/hello"
	DeliverPath = "/api/collectors/deliver"
	ReportPath  = "/api/collectors/report"
	PollPath    = "/api/collectors/poll"
	UpdatePath  = "/api/collectors/update"
	RequestPath = "/api/collectors/request"

	// BatchType is the content type of a batch by AppendBatch.
	BatchType = "application/vnd.stepscope.batch"
	// ProcessHeader tells two processes with one name apart: the start in ns
	// since 1970, a space, the host.
	ProcessHeader = "X-Stepscope-Process"
	// TakenHeader is on refusals that are ErrTaken.
	TakenHeader = "X-Stepscope-Taken"
)
