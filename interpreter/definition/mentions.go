package definition

import (
	"regexp"
	"strings"
)

// unusual are spellings of keys that nobody uses, with which nothing is certain: escaped letters, and a key after a
// question mark.
var unusual = regexp.MustCompile(`\\[ux]|(?m:^[ -]*\?)`)

// Mentions says whether any of some names of fields stands anywhere in the CRD. It reads the text, which is far
// quicker than reading the schemas, and so a name may also be that of something else: false is certain, true is not.
func (d *Definition) Mentions(names ...string) bool {
	text, ok := d.asWritten()
	if !ok || unusual.MatchString(text) {
		return true
	}
	for _, name := range names {
		for rest := text; ; {
			_, after, found := strings.Cut(rest, name)
			if !found {
				break
			}
			if strings.HasPrefix(strings.TrimLeft(after, "\"' \t"), ":") {
				return true
			}
			rest = after
		}
	}
	return false
}

// asWritten is the text that the CRD was read from, in YAML or JSON.
func (d *Definition) asWritten() (string, bool) {
	if d.doc != nil && len(d.path) == 0 {
		return d.doc.Text, true
	}
	text, err := d.text()
	return string(text), err == nil
}
