// Package collector runs beside engines and turns what they say into stored
// samples, events and traces.
//
//	config ─▶ manager ─▶ one source per target ─▶ batcher ─▶ wire.Link
//	              └ reports, captures ────────────────────────▲
//
// Sources (collector/logs, scrape, gpu) run on their own and hand over rows
// together with how far they have read. The batcher numbers batches and delivers
// each until the server has it: what was not delivered is read again after a
// crash, what was is not.
package collector

import (
	"cmp"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/stepscope/stepscope/collector/config"
	"github.com/stepscope/stepscope/collector/wire"
)

// Options are what a collector is run with. Link and Config are required.
type Options struct {
	Link    wire.Link
	Config  *config.Config
	File    string    // of the configuration, watched for changes; empty: it never changes
	Stdin   io.Reader // for a log target "-"
	Suffix  string    // of the host's name as this collector's name, where the configuration gives none
	Version string
	Log     *slog.Logger // nil: [slog.Default]

	hurry hurry // tests
}

// hurry makes a collector deliver sooner than is cheap. Zero values are the defaults.
type hurry struct{ poll, batch, retry, look time.Duration }

// name is the collector's at the server.
func (o *Options) name() string { return cmp.Or(o.Config.Name, hostName()+o.Suffix) }

func hostName() string {
	name, err := os.Hostname()
	if err != nil || name == "" {
		return "collector"
	}
	return name
}

const (
	// reportEvery is how often the state of all targets is told.
	reportEvery = 3 * time.Second
	// reloadEvery is how often the configuration is looked at.
	reloadEvery = 2 * time.Second
	// farewell is how long the last batches may take at the end.
	farewell = 5 * time.Second
	// restartPause is how long a source that failed waits.
	restartPause = 5 * time.Second
)
