package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// Bounds of what collectors send, in bytes, and how many batches are unpacked at once.
const (
	maxHello    = 64 << 10
	maxReport   = 16 << 20
	maxUpdate   = 512 << 10
	batchesOnce = 4
)

// CollectorsAPI is the wire.Link of collectors on other machines, over HTTP.
// Messages are the JSON of package wire; batches have their own binary form.
type CollectorsAPI struct {
	hub      *Hub
	decoding chan struct{} // a token for each batch in memory
}

// NewCollectorsAPI makes the API over a hub.
func NewCollectorsAPI(h *Hub) *CollectorsAPI {
	return &CollectorsAPI{hub: h, decoding: make(chan struct{}, batchesOnce)}
}

// Register mounts the API under /api/collectors.
func (a *CollectorsAPI) Register(e *echo.Echo) {
	e.POST(wire.HelloPath, a.hello)
	e.POST(wire.DeliverPath, a.deliver)
	e.POST(wire.ReportPath, a.report)
	e.POST(wire.UpdatePath, a.update)
	e.POST(wire.RequestPath, a.request)
	// A poll takes commands and keeps a name alive, so it is no reading call: the
	// rules for writing ones (origin, token) guard it as well.
	e.POST(wire.PollPath, a.poll)
}

// callContext is the request's context with the process that the client says it is.
func callContext(c echo.Context) context.Context {
	started, host, _ := strings.Cut(c.Request().Header.Get(wire.ProcessHeader), " ")
	ns, err := strconv.ParseInt(started, 10, 64)
	if err != nil {
		return c.Request().Context()
	}
	return withProcess(c.Request().Context(), process{host: cleanText(host, maxCollector), started: ns})
}

// hubError gives a hub's error the status and the words for the client.
func hubError(c echo.Context, err error) error {
	var he *HTTPError
	switch {
	case err == nil, errors.As(err, &he):
		return err
	case errors.Is(err, wire.ErrTaken):
		c.Response().Header().Set(wire.TakenHeader, "1")
		return refuse(http.StatusConflict, "collector_taken", err, err)
	}
	return storeError(err)
}

// readJSON reads one bounded JSON value from the body.
func readJSON(c echo.Context, limit int64, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(c.Response(), c.Request().Body, limit))
	err := d.Decode(v)
	if err == nil {
		if _, err = d.Token(); err == io.EOF {
			return nil
		}
		err = errors.Join(errors.New("bytes behind the value"), err)
	}
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return refuse(http.StatusRequestEntityTooLarge, "body_large", err, sizeText(limit))
	}
	return refuse(http.StatusBadRequest, "body", err, err)
}

func (a *CollectorsAPI) hello(c echo.Context) error {
	var m wire.Hello
	if err := readJSON(c, maxHello, &m); err != nil {
		return err
	}
	w, err := a.hub.Hello(callContext(c), m)
	if err != nil {
		return hubError(c, err)
	}
	return c.JSON(http.StatusOK, w)
}

func (a *CollectorsAPI) deliver(c echo.Context) error {
	ctx := callContext(c)
	// As it comes, before waiting for a turn: a slow line must not hold one.
	body, err := readBody(c.Request())
	if err != nil {
		return err
	}
	select {
	case a.decoding <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-a.decoding }()
	b, err := readBatch(c.Request().Header.Get("Content-Encoding"), body)
	if err != nil {
		return err
	}
	if err := a.hub.Deliver(ctx, c.QueryParam("collector"), b); err != nil {
		return hubError(c, err)
	}
	return c.NoContent(http.StatusNoContent)
}

var errBatchSize = refuse(http.StatusRequestEntityTooLarge, "batch_large", nil, sizeText(wire.MaxBatchBytes))

// readBody reads a batch as it comes.
func readBody(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Type") != wire.BatchType {
		return nil, refuse(http.StatusUnsupportedMediaType, "batch_type", nil, wire.BatchType)
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, wire.MaxBatchBytes+1))
	if err != nil {
		return nil, refuse(http.StatusBadRequest, "batch_broken", err)
	}
	if len(data) > wire.MaxBatchBytes {
		return nil, errBatchSize
	}
	return data, nil
}

// readBatch unpacks a batch.
func readBatch(encoding string, data []byte) (*store.Batch, error) {
	switch encoding {
	case "":
	case "gzip":
		zr, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			return nil, refuse(http.StatusBadRequest, "batch_gzip", err)
		}
		defer zr.Close()
		if data, err = io.ReadAll(io.LimitReader(zr, wire.MaxBatchBytes+1)); err != nil {
			return nil, refuse(http.StatusBadRequest, "batch_broken", err)
		}
		if len(data) > wire.MaxBatchBytes {
			return nil, errBatchSize
		}
	default:
		return nil, refuse(http.StatusUnsupportedMediaType, "batch_packing", nil)
	}
	b, err := wire.DecodeBatch(data)
	if err != nil {
		return nil, storeError(err)
	}
	return b, nil
}

func (a *CollectorsAPI) report(c echo.Context) error {
	var m wire.Report
	if err := readJSON(c, maxReport, &m); err != nil {
		return err
	}
	if err := a.hub.Report(callContext(c), m); err != nil {
		return hubError(c, err)
	}
	return c.NoContent(http.StatusNoContent)
}

func (a *CollectorsAPI) poll(c echo.Context) error {
	list, err := a.hub.Poll(callContext(c), c.QueryParam("collector"))
	if err != nil {
		return hubError(c, err)
	}
	if list == nil {
		list = []wire.Command{}
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return c.JSON(http.StatusOK, list)
}

func (a *CollectorsAPI) update(c echo.Context) error {
	var m wire.CaptureUpdate
	if err := readJSON(c, maxUpdate, &m); err != nil {
		return err
	}
	if err := a.hub.Update(callContext(c), c.QueryParam("collector"), m); err != nil {
		return hubError(c, err)
	}
	return c.NoContent(http.StatusNoContent)
}

func (a *CollectorsAPI) request(c echo.Context) error {
	var m wire.CaptureRequest
	if err := readJSON(c, maxUpdate, &m); err != nil {
		return err
	}
	list, err := a.hub.RequestCaptures(callContext(c), c.QueryParam("collector"), m)
	if err != nil {
		return hubError(c, err)
	}
	return c.JSON(http.StatusCreated, list)
}

// whoAsks names the client of a request for the record: what kind, and from where.
func whoAsks(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	kind := "api"
	switch {
	case r.Header.Get("Sec-Fetch-Site") != "":
		kind = "page"
	case strings.HasPrefix(r.UserAgent(), "stepscope/"):
		kind = "cli"
	}
	return fmt.Sprintf("%s %s", kind, host)
}
