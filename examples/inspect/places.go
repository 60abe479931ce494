package main

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/plugberth/plugberth/plugin/finding"
)

// places names files relative to the working directory, as CI systems and editors
// do.
type places struct {
	bases []string // the working directory as it was entered, and without links
}

func newPlaces() (places, error) {
	base, err := os.Getwd()
	if err != nil {
		return places{}, err
	}
	p := places{[]string{base}}
	if target, err := filepath.EvalSymlinks(base); err == nil {
		p.bases = append(p.bases, target)
	}
	return p, nil
}

// of returns the file that a finding on the plugin in dir is about, and the line and
// column. What is about no file is about the plugin, and the plugin is its manifest;
// what is about a whole file is put at its beginning.
func (p places) of(dir string, f finding.Finding) (file string, line, column int) {
	return filepath.Join(dir, filepath.FromSlash(cmp.Or(f.File, "plugin.json"))), max(f.Line, 1), max(f.Column, 1)
}

// name returns a file's path from the working directory, if it lies there. Where the
// position in its content counts, links are followed, because a repository has no
// file behind one.
func (p places) name(file string, content bool) (string, bool) {
	if content {
		if target, err := filepath.EvalSymlinks(file); err == nil {
			if inside, ok := p.relative(target); ok {
				return inside, true
			}
		}
	}
	return p.relative(file)
}

// relative returns the path of a file from the working directory, if it is below
// it by either name of it.
func (p places) relative(file string) (string, bool) {
	for _, base := range p.bases {
		if rel, err := filepath.Rel(base, file); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}
