package profile

import (
	"errors"
	"io"
	"os"
)

// Files is what a [Manager] does on disk. Only its IO worker calls it, one call at a time.
type Files interface {
	// Prepare makes sure that files can be created in dir, and creates it with its parents if need be.
	Prepare(dir string) error
	// Create creates a file that must not exist yet.
	Create(path string) (io.WriteCloser, error)
	// Remove takes away a file that could not be written to its end.
	Remove(path string) error
}

// Disk is the [Files] of the operating system.
type Disk struct{}

// Prepare creates dir and tries a file in it: permissions alone don't tell of read-only mounts or full disks.
func (Disk) Prepare(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".profile-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// Create never opens what is there already, so that a link planted in a shared folder leads nowhere.
func (Disk) Create(path string) (io.WriteCloser, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// Remove deletes the file.
func (Disk) Remove(path string) error { return os.Remove(path) }

// worker is the IO pool: one goroutine, one job at a time.
type worker struct {
	jobs chan func() // unbuffered: a job handed over is a job begun
	quit chan struct{}
}

func newWorker() *worker {
	w := &worker{jobs: make(chan func()), quit: make(chan struct{})}
	go w.run()
	return w
}

func (w *worker) run() {
	for {
		select {
		case job := <-w.jobs:
			job()
		case <-w.quit:
			return
		}
	}
}

// begin queues job and returns a channel with its result once the worker has begun it. When giveUp comes first, or the
// worker has ended, job is never run and the channel is nil.
func (w *worker) begin(job func() error, giveUp <-chan struct{}) <-chan error {
	done := make(chan error, 1)
	select {
	case w.jobs <- func() { done <- job() }:
		return done
	case <-giveUp:
	case <-w.quit:
	}
	return nil
}
