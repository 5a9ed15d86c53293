package web

import (
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/stepscope/stepscope/store"
)

// keptJSON answers who has sent a whole trace.
type keptJSON struct {
	ID       string `json:"id"`
	SHA256   string `json:"sha256"`
	Bytes    int64  `json:"bytes"`
	Existing bool   `json:"existing"`
	// What follows is there only if the bytes had been kept under another
	// name, label or note than the sender gave.
	Kept       *metaJSON `json:"kept,omitempty"`        // what the trace has
	NotApplied []string  `json:"not_applied,omitempty"` // fields given and not stored
	Hint       string    `json:"hint,omitempty"`
}

type metaJSON struct {
	Name  string `json:"name"`
	Label string `json:"label"`
	Note  string `json:"note"`
}

func toKept(t store.Trace, existing bool, given store.Meta) keptJSON {
	answer := keptJSON{ID: t.ID, SHA256: t.ID, Bytes: t.Bytes, Existing: existing}
	if answer.NotApplied = notApplied(t.Meta, given); len(answer.NotApplied) > 0 {
		kept := metaJSON(t.Meta)
		answer.Kept = &kept
		answer.Hint = "these bytes were kept before and stay as they are; to change that, send PATCH /api/traces/" + t.ID +
			` with {"name":…,"label":…,"note":…}, each of them optional`
	}
	return answer
}

// notApplied names the fields that were given and that the trace has otherwise.
func notApplied(kept, given store.Meta) (fields []string) {
	given = given.Clean()
	for _, f := range [...]struct{ name, kept, given string }{
		{"name", kept.Name, given.Name}, {"label", kept.Label, given.Label}, {"note", kept.Note, given.Note},
	} {
		if f.given != "" && f.given != f.kept {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// setNotApplied names in a header what of a finished upload's metadata was not
// stored because its bytes had been kept before.
func (h *TracesAPI) setNotApplied(c echo.Context, u store.Upload) error {
	if u.Trace == "" || !u.Existing {
		return nil
	}
	t, err := h.st.Trace(c.Request().Context(), u.Trace)
	if err != nil {
		return storeError(err)
	}
	if fields := notApplied(t.Meta, u.Meta); len(fields) > 0 {
		c.Response().Header().Set(notAppliedHeader, strings.Join(fields, ", "))
	}
	return nil
}
