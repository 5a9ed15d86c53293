package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/stepscope/stepscope/store"
	"github.com/stepscope/stepscope/store/sqlite"
)

// BackupCmd copies a database while servers and collectors go on using it.
type BackupCmd struct {
	File string `arg:"" help:"File to write; it must not be there yet."`
	DB   string `name:"db" default:"stepscope.db" env:"STEPSCOPE_DB" type:"path" help:"Database file to copy."`
}

// Run writes the copy and prints its size.
func (cmd *BackupCmd) Run(ctx context.Context, streams *IO) (err error) {
	if _, err := os.Stat(cmd.DB); errors.Is(err, fs.ErrNotExist) { // opening would make an empty one
		return fmt.Errorf("%w; give the database with --db", err)
	}
	st, err := sqlite.Open(ctx, cmd.DB, store.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if err := st.Backup(ctx, cmd.File); err != nil {
		return err
	}
	fi, err := os.Stat(cmd.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "%s  %d bytes; put it back with: stepscope restore %s --db NEW\n", cmd.File, fi.Size(), cmd.File)
	return err
}

// RestoreCmd makes a copy the database again.
type RestoreCmd struct {
	File    string `arg:"" help:"Copy that stepscope backup wrote; it is checked from end to end first."`
	DB      string `name:"db" default:"stepscope.db" env:"STEPSCOPE_DB" type:"path" help:"Database file to make of it."`
	Replace bool   `help:"Replace a database that is there already. It must not be in use, and is kept under another name."`
}

// Run restores and says where a replaced database lies.
func (cmd *RestoreCmd) Run(ctx context.Context, streams *IO) error {
	kept, err := sqlite.Restore(ctx, cmd.File, cmd.DB, cmd.Replace)
	if errors.Is(err, store.ErrInvalid) && !cmd.Replace {
		return withCode(exitUsage, fmt.Errorf("%w: add --replace for that", err))
	}
	if errors.Is(err, store.ErrCorrupt) {
		return fmt.Errorf("%s: %w; give a file that stepscope backup wrote, complete and not changed since", plain(cmd.File), err)
	}
	if err != nil {
		return err
	}
	if kept != "" {
		fmt.Fprintf(streams.Out, "%s  is what was there before; remove it when you don't need it\n", kept)
	}
	_, err = fmt.Fprintf(streams.Out, "%s  restored from %s\n", cmd.DB, cmd.File)
	return err
}
