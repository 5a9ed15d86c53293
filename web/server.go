package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"runtime/debug"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/store"
)

// Limits of every connection. There is no limit on a whole request, which would
// cut long uploads and downloads; a body must keep moving instead.
const (
	headerTimeout = 10 * time.Second  // to send the request's header
	bodyTimeout   = 60 * time.Second  // for a body to make any progress
	idleTimeout   = 120 * time.Second // between two requests of one connection
	maxHeader     = 64 << 10          // bytes of a request's header
	maxForm       = 64 << 10          // bytes of a form
	drainTimeout  = 10 * time.Second  // for requests under way when the server stops
)

// Config is what a server is made of. Store and Assets are required.
type Config struct {
	Store   store.Store
	Hub     *Hub                  // of collectors and captures; nil: one that no collector in this process uses
	Limits  Limits                // of uploads
	Grace   time.Duration         // how long a deleted trace can be restored, for the page to say
	Assets  fs.FS                 // the built browser files; see Built
	Example func(io.Writer) error // writes the example trace as JSON; nil: there is none
	Addr    netip.Addr            // what the server binds: loopback has a Host check, anything else needs Token
	Token   string                // guards every writing request when not empty
	Version string
	Log     *slog.Logger
}

// Server answers Stepscope's HTTP requests.
type Server struct {
	cfg         Config
	log         *slog.Logger
	assets      *assets
	example     *example
	samples     store.Samples
	hub         *Hub
	board       *board
	comparisons *comparisons
	answers     answers // to what charts ask for
	catalogues  catalogues
	summaries   *Summaries
	now         func() time.Time
	handler     http.Handler
	editing     *sync.Mutex // the hub's: from the look at what is stored to the change of it
}

// ErrUnguarded is why New refuses an address that other machines reach without a token.
var ErrUnguarded = errors.New("this address can be reached from other machines: give --token, which then guards every change, or bind 127.0.0.1")

// New builds the server. It fails with ErrUnguarded when the address can be reached from other
// machines and no token guards the writing requests, or when the assets are
// damaged. Assets that were never built are no failure: the pages say so.
func New(cfg Config) (*Server, error) {
	if !cfg.Addr.IsLoopback() && cfg.Token == "" {
		return nil, ErrUnguarded
	}
	built, err := loadAssets(cfg.Assets)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, log: cfg.Log, assets: built, example: &example{write: cfg.Example}, samples: cfg.Store, hub: cfg.Hub, now: time.Now}
	if s.hub == nil {
		s.hub = NewHub(cfg.Store, HubOptions{})
	}
	s.editing = &s.hub.editing
	s.summaries = NewSummaries(cfg.Store, cfg.Log)
	s.board = newBoard(cfg.Store, func() time.Time { return s.now() }, s.hub.unreadable)
	s.catalogues.wait = cataloguePause
	s.comparisons = newComparisons(cfg.Store, func() time.Time { return s.now() })

	e := echo.New()
	e.HideBanner, e.HidePort = true, true
	e.HTTPErrorHandler = s.handleError
	// Innermost last: a panic's answer still passes through the compression.
	e.Use(secureHeaders, bodyProgress, s.checkHost, s.checkOrigin(), s.checkToken, compress, s.recoverPanics)
	s.routes(e)
	s.handler = e
	return s, nil
}

// routes mounts every page, the API and the files.
func (s *Server) routes(e *echo.Echo) {
	read := []string{http.MethodGet, http.MethodHead}
	e.Match(read, "/", s.home)
	e.Match(read, "/fleet", s.fleetPage)
	e.Match(read, "/deployments", s.deploymentPage)
	e.Match(read, "/deployments/:name", s.deploymentPage)
	e.POST("/deployments/edit", s.editDeployment)
	e.POST("/deployments/delete", s.deleteDeployment)
	e.POST("/deployments/restore", s.restoreDeployment)
	e.POST("/baselines/put", s.putBaseline)
	e.POST("/baselines/delete", s.deleteBaseline)
	e.GET("/api/live", s.live)
	e.Match(read, "/api/series", s.series)
	e.Match(read, "/api/events", s.events)
	e.Match(read, "/trace", s.tracePage)
	e.Match(read, "/traces", s.tracesPage)
	s.compareRoutes(e)
	e.Match(read, "/collector", s.collectorPage)
	s.captureRoutes(e)
	e.POST("/traces/:id/delete", s.deleteTrace)
	e.POST("/traces/:id/restore", s.restoreTrace)
	e.POST("/traces/:id/edit", s.editTrace)
	e.Match(read, "/login", s.loginPage)
	e.POST("/login", s.login)
	e.Match(read, examplePath, s.example.serve)
	e.Match(read, staticPrefix+":name", s.assets.serve)
	e.Match(read, "/healthz", func(c echo.Context) error { return c.String(http.StatusOK, "ok\n") })
	NewTracesAPI(s.cfg.Store, s.cfg.Limits).Register(e)
	s.summaries.Register(e)
	NewCollectorsAPI(s.hub).Register(e)
	NewCapturesAPI(s.hub).Register(e)
}

// Handler is the server without a listener, for tests and embedding.
func (s *Server) Handler() http.Handler { return s.handler }

// Serve answers on the listener until ctx ends, then lets requests under way
// finish for a while. It returns nil after such a stop.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	defer s.background(ctx)()
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	s.hub.Stop() // polls and live streams would else keep the server waiting
	// ctx has ended; draining needs a time of its own.
	drain, cancel := context.WithTimeout(context.Background(), drainTimeout)
	defer cancel()
	if err := srv.Shutdown(drain); err != nil {
		return errors.Join(err, srv.Close())
	}
	return nil
}

// recoverPanics turns a panic into a logged 500 instead of a dropped
// connection; an answer begun already is cut, so that half a page does not look
// like a whole one. http.ErrAbortHandler passes: it is how a handler does that.
func (s *Server) recoverPanics(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			switch p := recover(); p {
			case nil:
			case http.ErrAbortHandler:
				panic(p)
			default:
				s.log.Error("a handler panicked", "path", c.Request().URL.Path, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				if c.Response().Committed {
					panic(http.ErrAbortHandler)
				}
				err = fmt.Errorf("panic: %v", p)
			}
		}()
		return next(c)
	}
}
