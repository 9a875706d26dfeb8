package webhook

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
)

const (
	// viaHeader is what HTTP has for those that pass requests on (RFC 9110, section 7.6.3).
	viaHeader = "Via"
	// How many servers may pass a question on. Replicas behind one Service have names of their own, so a circle of
	// them comes round late; nobody means a line of this length.
	maxVia = 8
)

// viaKey is the key of the header's value in the context of a question.
type viaKey struct{}

// newVia makes up the name by which a handler knows a question that it has passed on.
func newVia() string {
	name := make([]byte, 6)
	_, _ = rand.Read(name) // It never fails.
	return "interpret-" + hex.EncodeToString(name)
}

// withVia notes in the context of a question whom it has passed, so that a Layer tells the hook that it asks.
// One that has been here before is refused: each further round would end in the same hook.
func (h *Handler) withVia(ctx context.Context, header http.Header) (context.Context, error) {
	via := "1.1 " + h.via
	if passed := header[viaHeader]; len(passed) > 0 {
		before := strings.Join(passed, ", ")
		if strings.Contains(before, h.via) || strings.Count(before, ",")+1 >= maxVia {
			return nil, &StatusError{Code: http.StatusLoopDetected, Message: fmt.Sprintf(
				"the question goes round in a circle (Via: %s): a webhook configuration leads it back to where it came from; leave that hook out of the layer that asks it", before)}
		}
		via = before + ", " + via
	}
	return context.WithValue(ctx, viaKey{}, via), nil
}

// viaOf is the header's value for what is asked on behalf of a question, empty if it came from no handler.
func viaOf(ctx context.Context) string {
	via, _ := ctx.Value(viaKey{}).(string)
	return via
}
