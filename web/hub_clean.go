package web

import (
	"slices"
	"strings"

	"github.com/stepscope/stepscope/collector/wire"
	"github.com/stepscope/stepscope/store"
)

// cleanReport copies a report and cuts its texts to their bounds.
func cleanReport(r wire.Report) wire.Report {
	r.Problems = cleanProblems(r.Problems)
	r.Deployments = slices.Clone(r.Deployments)
	for i := range r.Deployments {
		r.Deployments[i].Name = cleanText(r.Deployments[i].Name, maxTextBytes)
	}
	r.Targets = slices.Clone(r.Targets)
	for i := range r.Targets {
		t := &r.Targets[i]
		for _, s := range []*string{&t.Name, &t.Source, &t.Kind, &t.ProfileAddr, &t.OutputDir} {
			*s = cleanText(*s, maxTextBytes)
		}
		t.Missing, t.Unknown = cleanTexts(t.Missing), cleanTexts(t.Unknown)
		if t.Problem != nil {
			t.Problem = &cleanProblems([]wire.Problem{*t.Problem})[0]
		}
		t.Notes = cleanProblems(t.Notes[:min(len(t.Notes), maxNotes)])
	}
	return r
}

const (
	maxTexts = 1000 // of one list in a report
	maxArgs  = 10   // of a problem: as many as its texts can name
	maxNotes = 16   // of a target
)

func cleanProblems(list []wire.Problem) []wire.Problem {
	list = slices.Clone(list[:min(len(list), maxTexts)])
	for i := range list {
		p := &list[i]
		for _, s := range []*string{&p.What, &p.Hint, &p.WhatZH, &p.HintZH, &p.Code} {
			*s = cleanText(*s, maxTextBytes)
		}
		p.Args = cleanTexts(p.Args[:min(len(p.Args), maxArgs)])
	}
	return list
}

func cleanTexts(list []string) []string {
	list = slices.Clone(list[:min(len(list), maxTexts)])
	for i := range list {
		list[i] = cleanText(list[i], maxTextBytes)
	}
	return list
}

// cleanText is untrusted text for one line: store's rules for notes, without line breaks.
func cleanText(s string, max int) string {
	s = strings.Join(strings.FieldsFunc(store.Meta{Note: s}.Clean().Note, func(r rune) bool { return r == '\n' || r == '\t' }), " ")
	if len(s) > max {
		s = strings.ToValidUTF8(s[:max], "")
	}
	return s
}
