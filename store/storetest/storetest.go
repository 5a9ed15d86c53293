// Package storetest is the conformance suite of package store: what every
// backend must do, whatever it is made of.
package storetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/stepscope/stepscope/store"
)

// Open opens a backend whose data lives at dir. Opened again with the same dir
// after Close, it must find what it had stored.
type Open func(t *testing.T, dir string, o store.Options) store.Store

// MiB is the size at whose multiples backends are most likely to err.
const MiB = 1 << 20

// RunTests runs the whole suite.
func RunTests(t *testing.T, open Open) {
	for _, c := range []struct {
		name string
		test func(t *testing.T, open Open)
	}{
		{"KeepRead", testKeepRead},
		{"Seek", testSeek},
		{"Dedupe", testDedupe},
		{"NotTrace", testNotTrace},
		{"TooLarge", testTooLarge},
		{"Quota", testQuota},
		{"KeepInterrupted", testKeepInterrupted},
		{"Blobs", testBlobs},
		{"List", testList},
		{"Search", testSearch},
		{"Update", testUpdate},
		{"DeleteRestorePurge", testDeleteRestorePurge},
		{"PurgeWhileReading", testPurgeWhileReading},
		{"UploadCuts", testUploadCuts},
		{"UploadRestart", testUploadRestart},
		{"UploadInterrupted", testUploadInterrupted},
		{"UploadErrors", testUploadErrors},
		{"UploadExpiry", testUploadExpiry},
		{"UploadDrop", testUploadDrop},
		{"UploadTooMany", testUploadTooMany},
		{"UploadBusy", testUploadBusy},
		{"SameBytesAtOnce", testSameBytesAtOnce},
		{"ReadersDuringUpload", testReadersDuringUpload},
		{"Deliver", testDeliver},
		{"Oracle", testOracle},
		{"InvalidBatches", testInvalidBatches},
		{"Events", testEvents},
		{"Deployments", testDeployments},
		{"Engines", testEngines},
		{"DeleteDeployment", testDeleteDeployment},
		{"Baselines", testBaselines},
		{"LateRows", testLateRows},
		{"Concurrent", testConcurrent},
		{"Retention", testRetention},
		{"RetentionBySize", testRetentionBySize},
		{"RetentionOfTraces", testRetentionOfTraces},
		{"Captures", testCaptures},
		{"Summaries", testSummaries},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open) })
	}
}

// Content returns n reproducible bytes that look like JSON at their start.
func Content(seed uint64, n int) []byte {
	var key [32]byte
	key[0], key[1] = byte(seed), byte(seed>>8)
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	copy(b, `{"`)
	return b
}

// ID is the id that bytes must get.
func ID(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:])
}

func fresh(t *testing.T, open Open, o store.Options) store.Store {
	t.Helper()
	st := open(t, t.TempDir(), o)
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return st
}

func keep(t *testing.T, st store.Traces, m store.Meta, b []byte) store.Trace {
	t.Helper()
	tr, _, err := st.KeepTrace(t.Context(), m, bytes.NewReader(b))
	if err != nil {
		t.Fatalf("KeepTrace: %v", err)
	}
	if tr.ID != ID(b) || tr.Bytes != int64(len(b)) {
		t.Fatalf("KeepTrace gave id %s and %d bytes; want %s and %d", tr.ID, tr.Bytes, ID(b), len(b))
	}
	return tr
}

func read(t *testing.T, st store.Traces, id string) []byte {
	t.Helper()
	b, err := st.OpenBlob(t.Context(), id)
	if err != nil {
		t.Fatalf("OpenBlob: %v", err)
	}
	defer b.Close()
	got, err := io.ReadAll(b)
	if err != nil {
		t.Fatalf("read blob: %v", err)
	}
	return got
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error is %v, want %v", err, want)
	}
}

func wantUsage(t *testing.T, st store.Traces, bytes int64, traces int) {
	t.Helper()
	u, err := st.Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if u.Bytes != bytes || u.Traces != traces {
		t.Fatalf("usage is %d bytes in %d traces, want %d in %d", u.Bytes, u.Traces, bytes, traces)
	}
}

// broken gives b and then fails.
func broken(b []byte) io.Reader {
	return io.MultiReader(bytes.NewReader(b), errReader{})
}

type errReader struct{}

var errBroken = errors.New("connection broke")

func (errReader) Read([]byte) (int, error) { return 0, errBroken }
