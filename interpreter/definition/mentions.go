package definition

import "bytes"

// Mentions says whether any of some names of fields stands anywhere in the CRD. It reads the text, which is far
// quicker than reading the schemas, and so a name may also be that of something else: false is certain, true is not.
func (d *Definition) Mentions(names ...string) bool {
	// JSON can spell a letter in other ways; nobody does, but then nothing is certain.
	if bytes.Contains(d.raw, []byte(`\u00`)) {
		return true
	}
	for _, name := range names {
		if bytes.Contains(d.raw, []byte(`"`+name+`"`)) {
			return true
		}
	}
	return false
}
