package conversion_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/kubeinterpret/interpret/webhook/conversion"
)

// A review of the size in which kubectl lists.
func BenchmarkReview(b *testing.B) {
	objects := make([]string, 500)
	for i := range objects {
		objects[i] = web
	}
	body := review(b, "sample.webhook.io/v1", objects...)
	for name, set := range map[string]*conversion.Set{"Go": set(b, aliased), "Lua": compiled(b, converter)} {
		h, err := conversion.NewHandler(set)
		require.NoError(b, err)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(body)))
			for b.Loop() {
				require.Contains(b, post(h, "/", body).Body.String(), `"status":"Success"`)
			}
		})
	}
}
