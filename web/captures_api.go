package web

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

const maxRequest = 512 << 10 // bytes of a request for captures

// CapturesAPI is the JSON API over captures.
type CapturesAPI struct{ hub *Hub }

// NewCapturesAPI makes the API over a hub.
func NewCapturesAPI(h *Hub) *CapturesAPI { return &CapturesAPI{hub: h} }

// Register mounts the API under /api/captures.
func (a *CapturesAPI) Register(e *echo.Echo) {
	read := []string{http.MethodGet, http.MethodHead}
	e.Match(read, "/api/captures", a.list)
	e.POST("/api/captures", a.start)
	e.Match(read, "/api/captures/:id", a.get)
	e.POST("/api/captures/:id/cancel", a.cancel)
}

// captureJSON is a capture as the API shows it.
type captureJSON struct {
	ID         int64                            `json:"id"`
	Group      string                           `json:"group"`
	Deployment string                           `json:"deployment"`
	Engine     string                           `json:"engine"`
	Collector  string                           `json:"collector"`
	By         string                           `json:"by"`
	Steps      int                              `json:"steps"`
	OutputDir  string                           `json:"output_dir"`
	Note       string                           `json:"note"`
	State      store.CaptureState               `json:"state"`
	Done       bool                             `json:"done"`
	Times      map[store.CaptureState]time.Time `json:"times"`
	Warning    string                           `json:"warning"`
	Error      string                           `json:"error"`
	Hint       string                           `json:"hint"`
	Path       string                           `json:"path"`
	Bytes      int64                            `json:"bytes"`
	Trace      string                           `json:"trace"`
	MoreTraces []string                         `json:"more_traces"`
}

func captureToJSON(c store.Capture) captureJSON {
	j := captureJSON{ID: c.ID, Group: c.Group, Deployment: c.Engine.Deployment, Engine: c.Engine.Name, Collector: c.Collector, By: c.By,
		Steps: c.Steps, OutputDir: c.OutputDir, Note: c.Note, State: c.State, Done: c.State.Done(), Times: c.Times,
		Warning: c.Warning, Error: c.Error, Hint: c.Hint, Path: c.Path, Bytes: c.Bytes, Trace: c.TraceID, MoreTraces: c.More}
	if j.MoreTraces == nil {
		j.MoreTraces = []string{}
	}
	return j
}

func capturesToJSON(list []store.Capture) []captureJSON {
	out := make([]captureJSON, len(list))
	for i, c := range list {
		out[i] = captureToJSON(c)
	}
	return out
}

// idleBody is the refusal that "force" overrides.
type idleBody struct {
	errorBody
	Idle []string `json:"idle"` // engines without load
}

func (a *CapturesAPI) start(c echo.Context) error {
	var q wire.CaptureRequest
	if err := readJSON(c, maxRequest, &q); err != nil {
		return err
	}
	q.By = whoAsks(c.Request())
	made, err := a.hub.StartCaptures(c.Request().Context(), q)
	var idle *IdleError
	var he *HTTPError
	if errors.As(err, &idle) && errors.As(err, &he) {
		c.Response().Header().Set("Cache-Control", "no-store")
		return c.JSON(he.Status, idleBody{he.body(), idle.Engines})
	}
	if err != nil {
		return hubError(c, err)
	}
	return c.JSON(http.StatusCreated, map[string]any{"captures": capturesToJSON(made)})
}

// captureID reads the id from the path.
func captureID(c echo.Context) (int64, error) {
	id, err := strconv.ParseInt(c.Param("id"), 10, 64)
	if err != nil || id < 1 {
		return 0, refuse(http.StatusBadRequest, "capture_id", nil)
	}
	return id, nil
}

func (a *CapturesAPI) get(c echo.Context) error {
	id, err := captureID(c)
	if err != nil {
		return err
	}
	got, err := a.hub.st.Capture(c.Request().Context(), id)
	if err != nil {
		return noCapture(c, err)
	}
	return c.JSON(http.StatusOK, captureToJSON(got))
}

func (a *CapturesAPI) cancel(c echo.Context) error {
	id, err := captureID(c)
	if err != nil {
		return err
	}
	got, err := a.hub.CancelCapture(c.Request().Context(), id, whoAsks(c.Request()))
	if err != nil {
		return noCapture(c, err)
	}
	return c.JSON(http.StatusOK, captureToJSON(got))
}

// noCapture is hubError with the words for a capture that isn't there.
func noCapture(c echo.Context, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return refuse(http.StatusNotFound, "capture_unknown", err)
	}
	return hubError(c, err)
}

func (a *CapturesAPI) list(c echo.Context) error {
	q := store.CaptureQuery{Deployment: c.QueryParam("deployment"), Group: c.QueryParam("group"), Active: c.QueryParam("active") == "1", Limit: store.DefaultPage}
	if s := c.QueryParam("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 || n > store.MaxPage {
			return refuse(http.StatusBadRequest, "limit", nil, store.MaxPage)
		}
		q.Limit = n
	}
	if s := c.QueryParam("before"); s != "" {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil || n < 1 {
			return refuse(http.StatusBadRequest, "capture_before", nil)
		}
		q.Before = n
	}
	list, err := a.hub.st.ListCaptures(c.Request().Context(), q)
	if err != nil {
		return storeError(err)
	}
	answer := struct {
		Captures []captureJSON `json:"captures"`
		Next     *int64        `json:"next"` // null on the last page
	}{Captures: capturesToJSON(list)}
	if len(list) == q.Limit {
		answer.Next = &list[len(list)-1].ID
	}
	return c.JSON(http.StatusOK, answer)
}
