package builtin

import (
	"encoding/base64"
	"encoding/pem"
	"strings"
)

// keepBundle copies the CA bundle at a path where the template leaves it open, or has a placeholder there.
func keepBundle(desired, observed map[string]any, path ...string) error {
	wanted, err := textAt(desired, path...)
	if err != nil {
		return err
	}
	have, err := textAt(observed, path...)
	if err != nil || have == "" || !isPlaceholder(wanted) {
		return err
	}
	return set(desired, have, path...)
}

// isPlaceholder says of a CA bundle that it is no certificate of anybody: the API wants PEM
// (https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#service-reference), and
// what an injector is to overwrite is marked by something else, often a single newline ("Cg=="). What is not even
// base64 is left for the API server to refuse.
func isPlaceholder(bundle string) bool {
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(bundle))
	if err != nil {
		return false
	}
	block, _ := pem.Decode(data)
	return block == nil
}
