package skills

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/internal/printable"
	"github.com/plugberth/plugberth/internal/report"
	"github.com/plugberth/plugberth/paths"
)

// ErrBinary is returned by [Offer.ReadResource] for a file that is no text,
// where the host does not take Base64.
var ErrBinary = errors.New("skills: the file is not text")

// ResourceOptions choose how one file of a skill is handed to a model. The zero
// value gives text alone, within the default bound.
type ResourceOptions struct {
	// MaxBytes bounds the file. Zero or less means 256 KiB.
	MaxBytes int64
	// Base64 gives files that are no text too, in that encoding.
	Base64 bool
	// Reserved are names of tags of the host's own prompt, which the text must
	// not hold either.
	Reserved []string
}

const defaultResource = 256 << 10

// ResourceContent is one file of a skill, read by [Offer.ReadResource].
type ResourceContent struct {
	Path      string // relative to the skill's directory, slash-separated
	MediaType string // without parameters; text is UTF-8
	Content   []byte // the file as it is
	Binary    bool   // it is no text
	Text      string // rendered for a model
	Tokens    int    // of Text, approximate, see [ApproxTokens]
}

// ReadResource reads one file of the skill, SKILL.md included, and renders it:
//
//	<skill_resource skill="review" package="reports" path="references/rules.md" media_type="text/markdown">
//	Be kind.
//	</skill_resource>
//
// What [Offer.Activate] says of the body holds for the text, and the same of
// attributes. A file is text if it is UTF-8 without NUL. Another one is refused
// with [ErrBinary], or stands there in Base64 with the attribute
// encoding="base64" where the options say so. The media type is told by content
// for images, documents and archives, and by extension for text.
//
// The name is relative to the skill's directory, as an agent may give it: with
// slashes, on Windows also backslashes, and perhaps ./ in front. Links are
// followed inside the root that the skill was loaded from. Nothing is cut: a
// file over the bound is refused with paths.ErrTooLarge. It also fails with [ErrOffer], [ErrNoFiles], fs.ErrInvalid
// for a name that is no such path, paths.ErrEscape, paths.ErrNotRegular and
// fs.ErrNotExist. The text of an error shows the name escaped and no other path.
func (o Offer) ReadResource(name string, opts ResourceOptions) (*ResourceContent, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	if o.Skill.root == nil {
		return nil, ErrNoFiles
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = defaultResource
	}
	r := &ResourceContent{Path: path.Clean(filepath.ToSlash(name))}
	fail := func(err error) (*ResourceContent, error) {
		return nil, fmt.Errorf("skills: the file %s of %s: %w", printable.Quote(name), o.Name, report.Innermost(err))
	}
	switch {
	case r.Path == ".." || strings.HasPrefix(r.Path, "../"):
		return fail(paths.ErrEscape)
	case name == "" || !fs.ValidPath(r.Path):
		return fail(fs.ErrInvalid)
	case r.Path == ".":
		return fail(paths.ErrNotRegular)
	}
	if r.Content, err = o.Skill.root.AppendFile(nil, o.Skill.dir+"/"+r.Path, opts.MaxBytes); err != nil {
		return fail(err)
	}
	r.MediaType, r.Binary = mediaType(r.Path, r.Content)
	attrs := append(o.attrs("skill"),
		modeltext.Attr{Name: "path", Value: r.Path},
		modeltext.Attr{Name: "media_type", Value: r.MediaType})
	text := string(r.Content)
	if r.Binary {
		if !opts.Base64 {
			return fail(ErrBinary)
		}
		attrs = append(attrs,
			modeltext.Attr{Name: "encoding", Value: "base64"},
			modeltext.Attr{Name: "bytes", Value: strconv.Itoa(len(r.Content))})
		text = base64.StdEncoding.EncodeToString(r.Content)
	}
	r.Text = modeltext.Fence(modeltext.Resource, attrs, text, opts.Reserved...)
	r.Tokens = ApproxTokens(r.Text)
	return r, nil
}
