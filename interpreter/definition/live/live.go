// Package live keeps CRDs in step with an API server.
//
// See package follow for what is answered while the server cannot be read, and for what an account needs; the
// resource is customresourcedefinitions in apiextensions.k8s.io.
package live

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/kubeinterpret/interpret/interpreter"
	"github.com/kubeinterpret/interpret/interpreter/definition"
	"github.com/kubeinterpret/interpret/interpreter/follow"
)

// Resource is the resource of CRDs.
const Resource = "customresourcedefinitions"

// ReasonConflict is the reason of Events on a CRD for a kind that another CRD defines.
const ReasonConflict = "Conflict"

// Definitions are the CRDs of an API server. Until they have been read once, whoever asks gets an error that is
// interpreter.ErrNotReady. A CRD that has not changed stays the same *definition.Definition.
type Definitions struct {
	*follow.Follower
	set atomic.Pointer[definition.Set]
}

// New makes the CRDs of a server. Nothing is read until Run.
func New(client dynamic.Interface, options ...follow.Option) (*Definitions, error) {
	d := &Definitions{}
	var err error
	d.Follower, err = follow.New(client, follow.Source[followed]{
		Resource: apiextensionsv1.SchemeGroupVersion.WithResource(Resource),
		Decode:   decode,
		Replace:  d.replace,
	}, options...)
	if err != nil {
		return nil, err
	}
	return d, nil
}

// Definition finds the CRD of a group and kind; it is nil if the server has none.
func (d *Definitions) Definition(kind schema.GroupKind) (*definition.Definition, error) {
	set := d.set.Load()
	if set == nil {
		return nil, d.unread()
	}
	return set.Definition(kind)
}

// All lists the CRDs, sorted by name. The list must not be changed.
func (d *Definitions) All() ([]*definition.Definition, error) {
	set := d.set.Load()
	if set == nil {
		return nil, d.unread()
	}
	return set.All()
}

func (d *Definitions) unread() error {
	err := d.Unread()
	if err == nil {
		// They have come just after somebody looked.
		err = fmt.Errorf("%w: they have been read just now; ask again", interpreter.ErrNotReady)
	}
	return fmt.Errorf("which CRDs there are is not known: %w", err)
}

// followed is a CRD, and whether the server serves it.
type followed struct {
	*definition.Definition
	established bool
}

func decode(o *unstructured.Unstructured) (*followed, error) {
	d, err := definition.FromObject(o)
	if err != nil {
		return nil, err
	}
	return &followed{d, established(o)}, nil
}

// established says whether a server has accepted a CRD's names, and serves it.
func established(o *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, _ := c.(map[string]any)
		return m["type"] == string(apiextensionsv1.Established) && m["status"] == string(apiextensionsv1.ConditionTrue)
	})
}

// replace puts CRDs in force. Of those for the same kind, which a server stores but does not serve, that one is in
// force which is served.
func (d *Definitions) replace(list []*followed) []follow.Problem {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *followed) int {
		if a.established != b.established {
			if a.established {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name(), b.Name())
	})
	var problems []follow.Problem
	kinds := make(map[schema.GroupKind]*followed, len(list))
	inForce := make([]*definition.Definition, 0, len(list))
	for _, f := range list {
		if first := kinds[f.GroupKind()]; first != nil {
			problems = append(problems, follow.Problem{
				Name: f.Name(), Reason: ReasonConflict, Broken: true,
				Message: fmt.Sprintf("CRD %s defines %s, as does CRD %s, which is in force", f.Name(), f.GroupKind(), first.Name()),
			})
			continue
		}
		kinds[f.GroupKind()] = f
		inForce = append(inForce, f.Definition)
	}
	// There are no two of a name on a server, and no two of a kind any more.
	if set, err := definition.NewSet(inForce...); err == nil {
		d.set.Store(set)
	}
	return problems
}
