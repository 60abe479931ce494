package skills

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plugberth/plugberth/internal/modeltext"
	"github.com/plugberth/plugberth/internal/report"
)

// ActivationOptions choose how a skill is handed to a model. The zero value
// holds the default bounds.
type ActivationOptions struct {
	// MaxBytes bounds the body. Zero or less means 128 KiB.
	MaxBytes int
	// MaxResources bounds the files that are listed. Zero or less means 100.
	MaxResources int
	// Reserved are names of tags of the host's own prompt, which the body must
	// not hold either.
	Reserved []string
	// NoDirectory leaves the directory out, for a skill whose directory means
	// nothing to the model: one that is compiled into the host, or whose files
	// only a tool of the host reads.
	NoDirectory bool
}

const (
	defaultBody      = 128 << 10
	defaultResources = 100
	maxResourceText  = 16 << 10 // of the paths that are listed, together
)

// Activation is a skill rendered for a model by [Offer.Activate].
type Activation struct {
	Text      string     // for the model
	Tokens    int        // of Text, approximate, see [ApproxTokens]
	Cut       bool       // the body was longer than the bound
	Resources []Resource // that are listed
	More      bool       // the skill has files that are not listed
}

// Activate reads the body of the skill and renders it with the list of the
// files beside it, in the form that the Agent Skills documentation suggests:
//
//	<skill_content name="review" package="reports" directory="skills/review">
//	Read references/rules.md first.
//	<skill_resources>
//	<file bytes="9">references/rules.md</file>
//	</skill_resources>
//	</skill_content>
//
// The directory is that of the offer's location; it and package are left out
// where they are not known, and so is an empty list. Control, bidi, zero-width,
// tag and other hidden characters are removed. In the body and the attributes, a
// name that would make a tag of one of plugberth's elements or reserved names
// gets "quoted-" before it, as in </quoted-skill_content>, and so does the name
// of a control token such as <|quoted-im_start|>; everything else, code and
// markup included, stays as it is. A reader that looks for tags, also one that
// ignores letter case and blanks or decodes character references, therefore
// finds those of plugberth alone.
//
// A body over the bound is cut at a line end or character, and attributes bytes
// and shown of skill_content tell its size and how much of it stands there. The
// list of files ends at its bound, or after 16 KiB of paths, leaves out paths
// with hidden characters or tags, and says more="true" where there are others.
//
// It fails with [ErrOffer], as [Skill.Body] and [Skill.Resources] do, and with
// the context's error.
func (o Offer) Activate(ctx context.Context, opts ActivationOptions) (*Activation, error) {
	o, err := o.checked()
	if err != nil {
		return nil, err
	}
	if opts.MaxBytes <= 0 {
		opts.MaxBytes = defaultBody
	}
	if opts.MaxResources <= 0 {
		opts.MaxResources = defaultResources
	}
	body, err := o.Skill.Body()
	if err != nil {
		return nil, fmt.Errorf("skills: the body of %s cannot be read: %w", o.Name, report.Innermost(err))
	}
	a := &Activation{}
	list, more, err := o.Skill.Resources(ctx, opts.MaxResources)
	if err != nil {
		return nil, fmt.Errorf("skills: the files of %s cannot be listed: %w", o.Name, report.Innermost(err))
	}
	a.More = more

	attrs := o.attrs("name")
	if dir := o.base(); dir != "" && !opts.NoDirectory {
		attrs = append(attrs, modeltext.Attr{Name: "directory", Value: dir})
	}
	shown := cutText(body, opts.MaxBytes)
	if a.Cut = len(shown) < len(body); a.Cut {
		attrs = append(attrs,
			modeltext.Attr{Name: "bytes", Value: strconv.Itoa(len(body))},
			modeltext.Attr{Name: "shown", Value: strconv.Itoa(len(shown))})
	}
	var files strings.Builder
	for _, r := range list {
		if shown := modeltext.Neutralize(modeltext.Line(r.Path), opts.Reserved...); shown != r.Path || files.Len() >= maxResourceText {
			a.More = true
			continue
		}
		a.Resources = append(a.Resources, r)
		modeltext.Element(&files, "file", r.Path, modeltext.Attr{Name: "bytes", Value: strconv.FormatInt(r.Size, 10)})
		files.WriteByte('\n')
	}
	var b strings.Builder
	b.Grow(len(shown) + files.Len() + 512)
	modeltext.Open(&b, modeltext.Content, modeltext.Neutral(attrs, opts.Reserved...)...)
	b.WriteByte('\n')
	if text := strings.Trim(modeltext.Neutralize(shown, opts.Reserved...), "\n"); text != "" {
		b.WriteString(text)
		b.WriteByte('\n')
	}
	if files.Len() > 0 || a.More {
		var about []modeltext.Attr
		if a.More {
			about = []modeltext.Attr{{Name: "more", Value: "true"}}
		}
		modeltext.Open(&b, modeltext.Resources, about...)
		b.WriteByte('\n')
		b.WriteString(files.String())
		modeltext.Close(&b, modeltext.Resources)
		b.WriteByte('\n')
	}
	modeltext.Close(&b, modeltext.Content)
	a.Text = b.String()
	a.Tokens = ApproxTokens(a.Text)
	return a, nil
}

// cutText returns the first max bytes of a text at the most, up to a line end
// where one is near and to a whole character otherwise.
func cutText(s string, max int) string {
	if len(s) <= max {
		return s
	}
	s = s[:max]
	if i := strings.LastIndexByte(s, '\n'); i >= max-max/8 {
		return s[:i+1]
	}
	for i := 1; i <= utf8.UTFMax && i <= len(s); i++ {
		if utf8.RuneStart(s[len(s)-i]) {
			if !utf8.FullRuneInString(s[len(s)-i:]) {
				return s[:len(s)-i]
			}
			break
		}
	}
	return s
}
