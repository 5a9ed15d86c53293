package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

const (
	// maxBody bounds what is read of a request or an answer, in bytes: far more than either needs.
	maxBody = 64 << 10
	// requestWait bounds how long a request may take to arrive.
	requestWait = 10 * time.Second
)

// Request says what to capture. Zero values leave the choice to the engine.
type Request struct {
	NumSteps  int    `json:"num_steps,omitempty"`  // 1 to MaxSteps; 0: DefaultSteps
	OutputDir string `json:"output_dir,omitempty"` // on the engine's node; "": DefaultOutputDir
}

// readRequest reads what a caller asks for: a JSON object in the body, or on GET, for browsers, the query. What is not
// given has its default, dir for the folder. Errors are for the caller to read.
func readRequest(r *http.Request, dir string) (Request, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return Request{}, fmt.Errorf("the request's body could not be read: %w", err)
	}
	if len(body) > maxBody {
		return Request{}, fmt.Errorf("the request's body is over %d bytes; send {\"num_steps\": …, \"output_dir\": …}", maxBody)
	}
	fields := map[string]json.RawMessage{}
	if r.Method == http.MethodGet {
		queryFields(r, fields)
	}
	if body = bytes.TrimSpace(body); len(body) > 0 {
		if body[0] != '{' {
			return Request{}, errors.New("the request's body is not a JSON object; send {\"num_steps\": …, \"output_dir\": …}")
		}
		if err := json.Unmarshal(body, &fields); err != nil {
			return Request{}, fmt.Errorf("the request's body is not JSON: %w", err)
		}
	}

	q := Request{NumSteps: DefaultSteps, OutputDir: dir}
	if raw, ok := fields["num_steps"]; ok {
		// Exactly an integer: 20.0, "20", true and null are none.
		n, err := strconv.Atoi(string(raw))
		if err != nil || n < 1 || n > MaxSteps {
			return Request{}, fmt.Errorf("num_steps is %.40s; it must be an integer from 1 to %d", raw, MaxSteps)
		}
		q.NumSteps = n
	}
	if raw, ok := fields["output_dir"]; ok {
		var dir *string
		if err := json.Unmarshal(raw, &dir); err != nil || dir == nil || *dir == "" {
			return Request{}, fmt.Errorf("output_dir is %.40s; it must be the path of a folder on this node", raw)
		}
		q.OutputDir = *dir
	}
	return q, nil
}

// queryFields adds the two parameters of r's query as the JSON values that they stand for.
func queryFields(r *http.Request, fields map[string]json.RawMessage) {
	query := r.URL.Query()
	if query.Has("num_steps") {
		fields["num_steps"] = json.RawMessage(query.Get("num_steps"))
	}
	if query.Has("output_dir") {
		dir, _ := json.Marshal(query.Get("output_dir")) // every string has its JSON
		fields["output_dir"] = dir
	}
}
